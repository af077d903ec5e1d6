"""What can go wrong in a unit, and whose fault it is."""

from __future__ import annotations

from ludus.errors import BenchError

__all__ = ["AgentFault", "InfrastructureFault", "one_line"]

_LONGEST = 500


class AgentFault(BenchError):
    """The agent raised, gave an invalid action, or took too long. It counts, and is not retried."""


class InfrastructureFault(BenchError):
    """Something else failed: a worker, a disk, the environment. It is retried and never counts."""


def one_line(problem: BaseException | str) -> str:
    """Return a text, or an exception's type and message, in one line of bounded length."""
    told = problem if isinstance(problem, str) else f"{type(problem).__name__}: {problem}"
    text = " ".join(told.split()).rstrip(": ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
