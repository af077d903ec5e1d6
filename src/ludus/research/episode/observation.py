"""Observations of an agent: their space and their values."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ludus.research.task.reward import Direction
from ludus.sandbox import Completed
from ludus.spaces import Box, Dict, Discrete, Text

__all__ = [
    "OUTPUT",
    "FreeText",
    "Observation",
    "Seen",
    "nothing_validated",
    "observation_space",
    "output_text",
]


_TYPED = string.ascii_letters + string.digits + string.punctuation + " \n"


class FreeText(Text):
    """Strings of at most ``max_length`` characters without NUL; samples are printable ASCII."""

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=_TYPED, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string without NUL that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length and "\0" not in x

    def __repr__(self) -> str:
        return f"FreeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]


Observation: TypeAlias = dict[str, Any]

OUTPUT = 1 << 16
"""Bytes kept of what a command writes, half from its beginning and half from its end."""

_LONGEST = 1 << 20
_PATH = 4096


def observation_space(max_steps: int) -> Dict:
    """Return the space of observations.

    ``exit_code`` is -1 where nothing was run; ``validation_score`` is infinitely bad as long as
    nothing was validated; ``seconds_left`` is infinite without a limit.
    """
    return Dict(
        {
            "task": FreeText(_LONGEST),
            "output": FreeText(_LONGEST),
            "exit_code": Discrete(257, start=-1),
            "cwd": FreeText(_PATH),
            "open_file": FreeText(_PATH),
            "steps_left": Discrete(max_steps + 1),
            "seconds_left": Box(0.0, np.inf, (), np.float64),
            "validation_score": Box(-np.inf, np.inf, (), np.float64),
        }
    )


def nothing_validated(direction: Direction) -> float:
    """Return the score before any validation: worse than every other."""
    return -np.inf if direction == "higher" else np.inf


@dataclass(frozen=True, slots=True)
class Seen:
    """The parts of an observation as Python has them."""

    task: str
    output: str
    exit_code: int
    cwd: str
    open_file: str
    steps_left: int
    seconds_left: float
    validation_score: float

    def observation(self) -> Observation:
        """Return a member of the space; what came out of the sandbox is cut to fit."""
        return {
            "task": _fit(self.task, _LONGEST),
            "output": _fit(self.output, _LONGEST),
            "exit_code": np.int64(min(max(self.exit_code, -1), 255)),
            "cwd": _fit(self.cwd, _PATH),
            "open_file": _fit(self.open_file, _PATH),
            "steps_left": np.int64(max(0, self.steps_left)),
            "seconds_left": np.array(max(0.0, self.seconds_left)),
            "validation_score": np.array(float(self.validation_score)),
        }


def output_text(done: Completed, limit: int) -> str:
    """Return what a command wrote, and what else there is to say about it."""
    out = _with_gap(done.stdout, done.stdout_cut, limit)
    # Errors are in the same stream unless the command could not even be parsed.
    out += _with_gap(done.stderr, done.stderr_cut, limit)
    notes = []
    if done.timed_out:
        notes.append(f"The command was stopped after {done.usage.wall_seconds or 0:.0f} s.")
    if done.oom_killed:
        notes.append("A process was killed because the sandbox's memory was full.")
    if done.note:
        notes.append(done.note)
    if not notes:
        return out
    return f"{out}{'' if not out or out.endswith(chr(10)) else chr(10)}[{' '.join(notes)}]\n"


def _with_gap(data: bytes, cut: int, limit: int) -> str:
    if not cut:
        return data.decode("utf-8", "replace")
    head = limit - limit // 2
    parts = (part.decode("utf-8", "replace") for part in (data[:head], data[head:]))
    return f"\n[{cut:,} bytes left out here]\n".join(parts)


def _fit(text: str, limit: int) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:limit]
