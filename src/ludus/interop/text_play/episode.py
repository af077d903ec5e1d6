"""One episode that a language model plays by calling tools."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Mapping
from typing import Any

from ludus import logger
from ludus.core import Env
from ludus.errors import InvalidAction
from ludus.interop.text_play.observations import Teller
from ludus.interop.text_play.replies import arguments_in, command_in, how_to_reply
from ludus.interop.text_play.tools import ACT, Tool, tools_of
from ludus.registration import make
from ludus.research.agents.prompts import system_prompt
from ludus.research.episode.env import ResearchEnv

__all__ = ["OVER", "TextEpisode", "open_episode"]

OVER = "The episode is over. Nothing more can be done."
_FAILED = "The environment failed, through no fault of yours. The episode is over."
_SECTIONS = ("Args:", "Attributes:", "Raises:", "Returns:", "Example:", "Versions:")
_PARAGRAPHS = 2
_ROLE = re.compile(r":\w+:(?=`)")


def open_episode(env: str, arguments: Mapping[str, Any] | None = None) -> TextEpisode:
    """Make an environment and what a model needs to play it.

    Args:
        env: An id, as for :func:`ludus.make`; ``mlgym/...`` for research tasks.
        arguments: Further arguments of ``ludus.make``.

    Raises:
        CustomSpaceError: A model cannot read its observations or write its actions.
        Error: There is no such environment.
    """
    made = make(env, **(arguments or {}))
    try:
        return TextEpisode(made)
    except BaseException:
        made.close()
        raise


class TextEpisode:
    """An environment as a model plays it: texts out, calls of tools in.

    The player is told observations only. Rewards, ``info`` and the last observation of a research
    task stay here, for whoever trains or examines it. Calls from several threads come one after the
    other; :meth:`close` does not wait for them.

    Args:
        env: The environment; :meth:`close` closes it.

    Attributes:
        env: The environment.
        tools: What the player may call, by name.
        instructions: The rules, for the system message of a model that calls tools.
        text_instructions: The same for a model that writes actions as text.
        is_over: Whether the episode is over; so it is before the first one.
        steps: Actions in this episode.
        info: Of the last step, for the operator.
        fault: What the environment raised; empty if it raised nothing.

    Raises:
        CustomSpaceError: A model cannot read its observations or write its actions.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        self.env = env
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools_of(env)}
        self._teller = Teller(env)
        self.instructions = _instructions(env)
        self.text_instructions = (
            system_prompt("text")
            if self.is_research
            else f"{self.instructions}\n\n{how_to_reply(self.tools[ACT])}"
        )
        self.is_over, self.steps, self.fault = True, 0, ""
        self.info: dict[str, Any] = {}
        self._total = 0.0
        self._turn, self._is_closed = threading.RLock(), False

    @property
    def is_research(self) -> bool:
        """Whether it is a research task, whose work is graded when the episode ends."""
        return self._teller.is_research

    @property
    def reward(self) -> float | None:
        """The sum of all rewards so far; ``None`` where a fault made the episode worth nothing."""
        is_fault = self.fault or self.info.get("outcome") == "infrastructure_fault"
        return None if is_fault else self._total

    def begin(self, seed: int | None = None) -> str:
        """Begin an episode and return what the player reads first.

        Raises:
            Exception: What the environment raises; there is no episode then.
        """
        with self._turn:
            self.is_over, self.steps, self.fault, self._total = True, 0, "", 0.0
            self.info = {}
            observation, self.info = self.env.reset(seed=seed)
            if self._is_closed:  # meanwhile, and what was opened since would stay open
                self.env.close()
                return OVER
            self.is_over = False
            return self._teller.first(observation)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return what the player is told.

        Raises:
            InvalidAction: There is no such tool, or its arguments are wrong; nothing was done.
        """
        if self.is_over:
            return OVER
        tool = self.tools.get(name)
        if tool is None:
            raise InvalidAction(
                f"There is no tool {name!r:.60}; there are {', '.join(self.tools)}."
            )
        return self.act(tool.action(arguments))

    def reply(self, text: str) -> str:
        """Take the action in a model's text and return what the player is told.

        Raises:
            InvalidAction: There is no action in it, or a wrong one; nothing was done.
        """
        if self.is_over:
            return OVER
        if self.is_research:
            return self.act(command_in(text))
        return self.call(ACT, arguments_in(text))

    def act(self, action: Any) -> str:
        """Take an action of the environment's space and return what the player is told."""
        with self._turn:
            return OVER if self.is_over else self._act(action)

    def _act(self, action: Any) -> str:
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
            ends = bool(terminated or truncated)
            self.steps += 1
            self._account(float(reward), info, ends)
            if ends and self.is_research:
                return OVER
            told = self._teller.next(observation)
        except Exception as problem:  # environments may raise anything
            return self._fail(problem)
        return f"{told}\n{OVER}" if ends else told

    def finish(self) -> None:
        """End the episode where the player has stopped; the work of a research task is graded."""
        with self._turn:
            if not self.is_over:
                self._finish()

    def _finish(self) -> None:
        inner = self.env.unwrapped
        if not isinstance(inner, ResearchEnv):
            self.is_over = True
            return
        try:
            _, reward, _, _, info = inner.finish()
            self._account(float(reward), info, True)
        except Exception as problem:  # the task's own code may raise anything
            self._fail(problem)

    def close(self) -> None:
        """Close the environment, and so end what it is doing."""
        self._is_closed = self.is_over = True
        self.env.close()

    def _account(self, reward: float, info: dict[str, Any], is_over: bool) -> None:
        self.info, self.is_over = info, is_over
        self._total += reward

    def _fail(self, problem: Exception) -> str:
        """End the episode without a reward; what was raised is for the operator only."""
        self.fault, self.is_over = f"{type(problem).__name__}: {problem}", True
        logger.warn(f"An episode failed and has no reward. {self.fault}")
        return _FAILED


def _instructions(env: Env[Any, Any]) -> str:
    if isinstance(env.unwrapped, ResearchEnv):
        return system_prompt("tools")
    spec = env.spec
    about = "" if spec is None or spec.description is None else f"{spec.description}\n\n"
    return (
        "You act in an environment, one action at a time, and aim for the highest total reward.\n\n"
        f"{about}{_rules(env)}"
    ).strip()


def _rules(env: Env[Any, Any]) -> str:
    """Return the first paragraphs of the documentation of the environment's own class."""
    kind, spec = type(env.unwrapped), env.spec
    if spec is None or f"{kind.__module__}:{kind.__qualname__}" != spec.entry_point:
        return ""
    told: list[str] = []
    for paragraph in (inspect.getdoc(kind) or "").split("\n\n"):
        if paragraph.lstrip().startswith(_SECTIONS):
            break
        told.append(paragraph)
    return _ROLE.sub("", "\n\n".join(told[:_PARAGRAPHS])).replace("``", "`")
