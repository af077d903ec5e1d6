"""Environments and research tasks for TRL's ``GRPOTrainer``.

::

    from ludus.interop.trl import LudusSpec
    from trl import GRPOConfig, GRPOTrainer

    spec = LudusSpec("FrozenLake-v1", arguments={"render_mode": "ansi"})
    trainer = GRPOTrainer(
        model="...",
        args=GRPOConfig(max_tool_calling_iterations=30),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
    )

The model acts by calling tools: those of the research task, or one tool ``act`` whose arguments are
made from the action space. It reads observations, and has no tool for resets, states or rewards.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ludus import optional
from ludus.errors import InvalidArgument
from ludus.interop.text_play import TextEpisode, Tool, open_episode

__all__ = ["LudusSpec"]

_MOST_THREADS = 8


@dataclass(frozen=True)
class LudusSpec:
    """What ``GRPOTrainer`` needs to train a model on an environment or a research task.

    All rollouts of a row of the dataset have the same seed, so that they are compared on the same
    episode. A rollout's reward is the sum of the rewards of its episode; for a research task that
    is the normalised score of the work as it is when the model stops. It is ``None``, which TRL
    leaves out, where the environment failed or could not be graded.

    Args:
        env: An id, as for :func:`ludus.make`; ``mlgym/...`` for research tasks.
        num_episodes: Rows of the dataset, one seed each.
        seed: Of the first row; the others count up.
        arguments: Further arguments of :func:`ludus.make`.
        instructions: Text of the system message, instead of the environment's own.

    Raises:
        InvalidArgument: ``num_episodes`` is not positive, or ``seed`` is negative.
    """

    env: str
    num_episodes: int = 64
    seed: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    instructions: str | None = None

    def __post_init__(self) -> None:
        for name, least in (("num_episodes", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InvalidArgument(
                    f"LudusSpec({name}={value!r}): expected a whole number of at least {least}."
                )

    @cached_property
    def train_dataset(self) -> Any:
        """A ``datasets.Dataset`` with the columns ``prompt`` and ``seed``.

        ``reset`` adds the first observation to the prompt's last message.

        Raises:
            DependencyNotInstalled: ``datasets`` is not installed.
            CustomSpaceError: A model cannot read its observations or write its actions.
            Error: There is no such environment.
        """
        datasets = optional.require(
            "datasets", extra="trl", purpose="The dataset of an environment"
        )
        system = (
            self._rollout_class.instructions if self.instructions is None else self.instructions
        )
        prompt = [{"role": "system", "content": system}, {"role": "user", "content": ""}]
        seeds = range(self.seed, self.seed + self.num_episodes)
        rows = {"prompt": [prompt] * len(seeds), "seed": list(seeds)}
        return datasets.Dataset.from_dict(rows)

    @cached_property
    def environment_factory(self) -> Callable[[], Any]:
        """Makes the environment of a rollout, whose public methods besides ``reset`` are tools.

        Raises:
            CustomSpaceError: A model cannot read its observations or write its actions.
            Error: There is no such environment.
        """
        return self._rollout_class

    @property
    def reward_funcs(self) -> Callable[..., list[float | None]]:
        """Ends the episode of each rollout and returns its reward."""
        return episode_reward

    @cached_property
    def _rollout_class(self) -> type[_Rollout]:
        """The class of this spec's environments; TRL reads the tools from it."""
        episode = open_episode(self.env, self.arguments)
        try:
            members: dict[str, Any] = {name: _method(tool) for name, tool in episode.tools.items()}
            members["instructions"] = episode.instructions
        finally:
            episode.close()
        members["_open"] = staticmethod(lambda: open_episode(self.env, self.arguments))
        # Its name is that of the reward in TRL's logs.
        return type(re.sub(r"\W+", "_", self.env), (_Rollout,), members)


class _Rollout:
    """One environment, which TRL resets for each rollout; a class of each spec adds its tools.

    TRL takes every public method for a tool but ``reset``, so the others are private.
    """

    instructions: str
    _open: Callable[[], TextEpisode]

    def __init__(self) -> None:
        self._episode = self._open()

    def reset(self, seed: int | None = None, **columns: Any) -> str:
        """Begin the episode of a row of the dataset and return its first observation."""
        return self._episode.begin(seed)

    def _settle(self) -> float | None:
        """End the episode, if the model has not, and return its reward."""
        self._episode.finish()
        return self._episode.reward


def episode_reward(environments: Sequence[Any], **columns: Any) -> list[float | None]:  # noqa: ARG001 - TRL's contract
    """Return the reward of each rollout; work on research tasks is graded side by side."""
    with ThreadPoolExecutor(_MOST_THREADS, "grading") as pool:
        return list(pool.map(_settled, environments))


def _settled(environment: Any) -> float | None:
    # In a run with several environments the rollouts of others have rewards of their own.
    return environment._settle() if isinstance(environment, _Rollout) else None


def _method(tool: Tool) -> Callable[..., str]:
    """Return a method with the signature and the docstring of a tool."""

    def call(self: Any, /, **arguments: Any) -> str:
        return self._episode.call(tool.name, arguments)  # type: ignore[no-any-return]

    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", positional)]
    for one in sorted(tool.parameters, key=lambda parameter: not parameter.required):
        default = inspect.Parameter.empty if one.required else None
        made = inspect.Parameter(one.name, positional, default=default, annotation=one.hint)
        parameters.append(made)
    # TRL shows the model what these say, as for any other function.
    call.__name__, call.__qualname__ = tool.name, tool.name
    call.__doc__ = "\n".join(
        [
            tool.about,
            *(["", "Args:"] if tool.parameters else []),
            *(f"    {one.name}: {one.about}" for one in tool.parameters),
        ]
    )
    call.__annotations__ = {**{one.name: one.hint for one in tool.parameters}, "return": str}
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return call
