"""Environments and research tasks as tasks of Inspect, with Ludus's own score.

An episode belongs to a sample. The model acts with tools; rewards, ``info`` and the grader stay in
this process, where the scorer takes the reward of the episode.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from ludus import optional
from ludus.errors import InvalidAction, ResetNeeded
from ludus.interop.inspect.threads import in_thread
from ludus.interop.text_play import TextEpisode, Tool, open_episode

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
    from inspect_ai.solver._task_state import sample_state
    from inspect_ai.tool import ToolDef, ToolError, ToolParams
    from inspect_ai.util import JSONSchema
except ImportError as problem:
    raise optional.missing("inspect_ai", extra="inspect") from problem

__all__ = ["close_play", "episode_tools", "ludus_score", "open_play", "play"]

_TOLD = ("outcome", "score", "normalised_score", "end", "reason", "validations")
_episodes: dict[str, TextEpisode] = {}
"""Those under way, by the unique id of their sample; cleaning a sample up removes its own."""


@task  # type: ignore[untyped-decorator]
def play(
    env: str = "mlgym/battleOfSexes-v0",
    num_episodes: int = 1,
    seed: int = 0,
    arguments: dict[str, Any] | None = None,
    message_limit: int | None = 200,
) -> Task:
    """Episodes of an environment or a research task, each with a seed.

    Args:
        env: An id, as for ``ludus.make``; ``mlgym/...`` for research tasks.
        num_episodes: Number of samples, one seed each.
        seed: Of the first one; the others count up.
        arguments: Further arguments of ``ludus.make``.
        message_limit: Of a sample; the work of a research task is graded where it ends.
    """
    made = dict(arguments or {})
    samples = [
        # The model is not told the seed, from which some could compute what comes.
        Sample(input=env, id=number, metadata={"seed": number})
        for number in range(seed, seed + num_episodes)
    ]
    return Task(
        dataset=samples,
        setup=open_play(env, made),
        solver=generate(tool_calls="loop"),
        cleanup=close_play,
        scorer=ludus_score(),
        message_limit=message_limit,
        name=f"ludus_{env.rpartition('/')[2]}",
    )


@solver  # type: ignore[untyped-decorator]
def open_play(env: str, arguments: dict[str, Any] | None = None) -> Solver:
    """Begin the sample's episode, tell the model its rules and observation, and give it the tools.

    A solver in place of the task's own finds the tools in ``state.tools``.

    Args:
        env: An id, as for ``ludus.make``.
        arguments: Further arguments of ``ludus.make``.
    """

    async def begin(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - Inspect's
        episode = await in_thread(partial(open_episode, env, arguments))
        _episodes[state.uuid] = episode
        first = await in_thread(partial(episode.begin, int(state.metadata["seed"])))
        state.messages = [
            ChatMessageSystem(content=episode.instructions),
            ChatMessageUser(content=first),
        ]
        state.tools.extend(tool.as_tool() for tool in _tools(episode.tools))
        return state

    return begin


async def close_play(state: TaskState) -> None:
    """Close the sample's episode and its sandboxes."""
    episode = _episodes.pop(state.uuid, None)
    if episode is not None:
        await in_thread(episode.close)


def episode_tools(env: str, arguments: dict[str, Any] | None = None) -> list[ToolDef]:
    """Return the tools of an environment, for agents that take tools as an argument.

    They act in the episode of the sample in which they are called.

    Args:
        env: An id, as for ``ludus.make``.
        arguments: Further arguments of ``ludus.make``.
    """
    episode = open_episode(env, arguments)
    try:
        return _tools(episode.tools)
    finally:
        episode.close()


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def ludus_score() -> Scorer:
    """Score a sample with the reward of its episode.

    That is the sum of all rewards; for a research task the normalised score of the work on the test
    split, which Ludus graded. Work that was not handed in is graded as it is.

    Raises:
        RuntimeError: The environment failed, or the work could not be graded; there is no score.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's
        episode = _current(state)
        await in_thread(episode.finish)
        if episode.reward is None:
            why = episode.fault or episode.info.get("reason") or "the work could not be graded"
            raise RuntimeError(f"The episode has no score: {why}")
        told = {key: episode.info[key] for key in _TOLD if key in episode.info}
        return Score(
            value=float(episode.reward),
            answer=str(told.get("end", "")) or None,
            explanation=str(told.get("reason", "")) or None,
            metadata={**told, "steps": episode.steps},
        )

    return score


def _tools(tools: Mapping[str, Tool]) -> list[ToolDef]:
    return [
        ToolDef(
            _caller(tool.name),
            name=tool.name,
            description=tool.about,
            parameters=ToolParams(
                properties={
                    name: JSONSchema.model_validate(field)
                    for name, field in tool.schema["properties"].items()
                },
                required=tool.schema["required"],
            ),
        )
        for tool in tools.values()
    ]


def _caller(name: str) -> Callable[..., Awaitable[str]]:
    """Return what carries out the calls of a tool, in the episode of the current sample."""

    async def execute(**arguments: Any) -> str:
        episode = _current(sample_state())
        try:
            return await in_thread(partial(episode.call, name, arguments))
        except InvalidAction as problem:
            raise ToolError(str(problem)) from None

    return execute


def _current(state: TaskState | None) -> TextEpisode:
    episode = None if state is None else _episodes.get(state.uuid)
    if episode is None:
        raise ResetNeeded(
            "This sample has no episode of Ludus. Let the task begin with open_play, as play does."
        )
    return episode
