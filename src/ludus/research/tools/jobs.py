"""Calls of the tool ``jobs``: programs that run on between the agent's commands.

The host carries them out, not a program in the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ludus.research.tools.inside.table import Parameter, Tool

__all__ = ["JOBS", "JOBS_TOOL", "JobCall", "WrongJobCall", "read_job_call", "read_job_line"]

JOBS = "jobs"
_ACTIONS = ("start", "list", "output", "stop")
_LINE = re.compile(rf"\s*jobs[ \t]+({'|'.join(_ACTIONS)})(?:[ \t\n]+(.*))?", re.DOTALL)
_LARGEST = 10**15

JOBS_TOOL = Tool(
    "Run programs in the background, such as a training that goes on while you do something else. "
    "As a command: jobs start COMMAND, jobs list, jobs output JOB [OFFSET], jobs stop JOB. Jobs "
    "stand still while your work is graded, and end with the episode.",
    (
        Parameter("action", "One of start, list, output, stop."),
        Parameter("command", "For start: one or more lines of bash.", required=False),
        Parameter("job", "For output and stop: the job's number.", "integer", required=False),
        Parameter(
            "offset", "For output: the first byte; the end by default.", "integer", required=False
        ),
        Parameter("seconds", "For start: its time limit.", "integer", required=False),
    ),
)


class WrongJobCall(ValueError):
    """An invalid call; the text says why, for the agent."""


@dataclass(frozen=True, slots=True)
class JobCall:
    """What the agent asks for.

    Attributes:
        action: ``"start"``, ``"list"``, ``"output"`` or ``"stop"``.
        command: What to start.
        job: A job's number.
        offset: The first byte of its output that is wanted; ``None`` for the end.
        seconds: Its time limit; ``None`` for the longest.
    """

    action: str
    command: str = ""
    job: int = 0
    offset: int | None = None
    seconds: int | None = None


def read_job_call(arguments: Mapping[str, Any]) -> JobCall:
    """Read a structured call.

    Raises:
        WrongJobCall: its arguments are wrong.
    """
    known = {parameter.name: parameter.kind for parameter in JOBS_TOOL.parameters}
    if unknown := sorted(set(map(str, arguments)) - known.keys()):
        raise WrongJobCall(f"jobs has no argument {unknown[0]!r}; it takes {', '.join(known)}.")
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        right = isinstance(value, str) if known[name] == "string" else type(value) is int
        if not right or (known[name] == "integer" and not 0 <= value < _LARGEST):
            raise WrongJobCall(f"The argument {name!r} of jobs has to be a {known[name]}.")
    action = given.get("action")
    if action not in _ACTIONS:
        raise WrongJobCall(f"jobs needs an action, one of {', '.join(_ACTIONS)}.")
    if action == "start" and not given.get("command", "").strip():
        raise WrongJobCall("jobs start needs a command.")
    if action in ("output", "stop") and "job" not in given:
        raise WrongJobCall(f"jobs {action} needs the number of a job; see jobs list.")
    return JobCall(**given)


def read_job_line(text: str) -> JobCall | None:
    """Read a call that was typed; ``None`` if the text is for the shell.

    Raises:
        WrongJobCall: what follows is wrong.
    """
    if not (match := _LINE.fullmatch(text)):
        return None
    action, rest = match[1], (match[2] or "").strip()
    if action == "start":
        return read_job_call({"action": action, "command": rest})
    words = rest.split()
    names = {"list": (), "output": ("job", "offset"), "stop": ("job",)}[action]
    if len(words) > len(names) or not all(re.fullmatch("[0-9]{1,15}", word) for word in words):
        raise WrongJobCall(
            "Use: jobs start COMMAND; jobs list; jobs output JOB [OFFSET]; jobs stop JOB."
        )
    return read_job_call({"action": action, **dict(zip(names, map(int, words), strict=False))})
