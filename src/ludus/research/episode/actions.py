"""Actions of an agent: a text for the shell, or a structured tool call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ludus.errors import InvalidAction
from ludus.research.tools.calls import SHELL, WrongCall, command_line
from ludus.research.tools.inside.table import TOOLS
from ludus.research.tools.jobs import (
    JOBS,
    JobCall,
    WrongJobCall,
    read_job_call,
    read_job_line,
)
from ludus.spaces import Space
from ludus.spaces.errors import SpaceValueError

__all__ = ["Action", "ActionSpace", "ParsedAction", "read_action"]

Action: TypeAlias = str | Mapping[str, Any]

_LONGEST = 1 << 20
# What a sample does: harmless, and each shows something.
_SAMPLES: tuple[Action, ...] = (
    "ls -la",
    "pwd",
    "head -n 20 *",
    "python --version",
    {"tool": "find_file", "arguments": {"pattern": "*.py"}},
    {"tool": "search_dir", "arguments": {"text": "def "}},
    {"tool": "memory_read", "arguments": {}},
    {"tool": "validate", "arguments": {}},
)


class ActionSpace(Space[Any]):
    """Strings for the shell, and calls ``{"tool": name, "arguments": {...}}`` of the tools.

    Wrong arguments of a tool are a member too: the agent is told about them, as about an unknown
    command. Calls of unknown tools are not; an environment that is given one does nothing, and
    tells the agent which tools there are. Samples are drawn from a few harmless actions.

    Attributes:
        tools: The names of the tools, the shell first.
    """

    tools: tuple[str, ...] = (SHELL, *TOOLS)

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Never: a text is no array."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Action:
        """Draw one of a few harmless actions.

        Raises:
            SpaceValueError: a mask or probabilities are given.
        """
        if mask is not None or probability is not None:
            raise SpaceValueError("Text actions take neither `mask` nor `probability`")
        chosen = _SAMPLES[int(self.np_random.integers(len(_SAMPLES)))]
        return chosen if isinstance(chosen, str) else dict(chosen)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a text, or has the form of a call of a known tool."""
        return _misshapen(x) is None and (isinstance(x, str) or x["tool"] in self.tools)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the members."""
        call = {
            "type": "object",
            "properties": {"tool": {"enum": list(self.tools)}, "arguments": {"type": "object"}},
            "required": ["tool"],
            "additionalProperties": False,
        }
        return {"anyOf": [{"type": "string", "maxLength": _LONGEST}, call]}

    def __repr__(self) -> str:
        return f"ActionSpace(text, tools: {', '.join(self.tools)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action as it is executed.

    Attributes:
        text: what the shell runs.
        is_tool: whether it is a tool call, which has the short time limit.
        problem: why nothing is run, for the agent; empty if something is.
        job: what is asked of the background jobs, instead of the shell.
    """

    text: str
    is_tool: bool = False
    problem: str = ""
    job: JobCall | None = None


def read_action(action: object) -> ParsedAction:
    """Parse an action.

    Raises:
        InvalidAction: it is neither a text nor a call.
    """
    if problem := _misshapen(action):
        raise InvalidAction(
            f"{problem} An action is a text for the shell, or a call such as "
            "{'tool': 'open', 'arguments': {'path': 'main.py'}}."
        )
    if isinstance(action, str):
        return _typed(action)
    call: Any = action
    tool, arguments = call["tool"], call.get("arguments") or {}
    if tool == SHELL:
        command = arguments.get("command")
        if set(arguments) != {"command"} or not isinstance(command, str):
            return ParsedAction(
                "", problem="The tool 'shell' takes one argument, the text 'command'."
            )
        return _typed(command)
    try:
        if tool == JOBS:
            call_of_jobs = read_job_call(arguments)
            checked = _typed(call_of_jobs.command, shell_only=True)
            return ParsedAction("", True, checked.problem, call_of_jobs)
        typed = _typed(command_line(tool, arguments), shell_only=True)
    except (WrongCall, WrongJobCall) as problem:
        return ParsedAction("", is_tool=True, problem=str(problem))
    return ParsedAction(typed.text, is_tool=True, problem=typed.problem)


def _typed(text: str, *, shell_only: bool = False) -> ParsedAction:
    """Return a command, or why no shell takes it."""
    if "\0" in text:
        return ParsedAction(
            "", problem="The command holds a NUL character, which no shell accepts."
        )
    if len(text) > _LONGEST:
        return ParsedAction("", problem=f"The command has more than {_LONGEST:,} characters.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return ParsedAction("", problem="The command holds half a character (a lone surrogate).")
    try:
        call = None if shell_only else read_job_line(text)
    except WrongJobCall as problem:
        return ParsedAction("", is_tool=True, problem=str(problem))
    return ParsedAction(text) if call is None else ParsedAction("", is_tool=True, job=call)


def _misshapen(action: object) -> str | None:
    if isinstance(action, str):
        return None
    if not isinstance(action, Mapping):
        return f"The action is a {type(action).__name__}."
    if not isinstance(action.get("tool"), str):
        return "The action is a dict without the name of a 'tool'."
    if not isinstance(action.get("arguments") or {}, Mapping):
        return "The 'arguments' of the action are no dict."
    if unknown := sorted(str(key) for key in action if key not in ("tool", "arguments")):
        return f"The action has a field {unknown[0]!r} that calls do not have."
    return None
