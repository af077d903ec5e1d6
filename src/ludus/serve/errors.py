"""What a client hears of an error: code, text and HTTP status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ludus.errors import (
    BadArguments,
    CapacityReached,
    CodecError,
    DataMissing,
    DependencyNotInstalled,
    Error,
    InvalidAction,
    ResetNeeded,
    SandboxUnavailable,
    SessionGone,
    StateError,
    UnknownName,
)
from ludus.terminal_text import escaped

__all__ = ["InvalidMessage", "Told", "told"]

_LONGEST = 2000


class InvalidMessage(ValueError):
    """A message of a client is invalid; ``errors`` say where and why, as pydantic's do."""

    def __init__(self, where: Sequence[str | int], text: str, kind: str = "value_error") -> None:
        super().__init__(text)
        self.errors = [{"type": kind, "loc": list(where), "msg": text}]


@dataclass(frozen=True, slots=True)
class Told:
    """What a client hears of an error.

    Attributes:
        code: One of OpenEnv's codes.
        message: For people.
        status: Of an answer over HTTP.
        more: Further fields.
    """

    code: str
    message: str
    status: int = 500
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """The fields of an error message."""
        return {"message": self.message, "code": self.code, **self.more}


_CODES: tuple[tuple[type[Exception], str, int], ...] = (
    (InvalidMessage, "VALIDATION_ERROR", 422),
    (InvalidAction, "VALIDATION_ERROR", 422),
    (CapacityReached, "CAPACITY_REACHED", 503),
    (SessionGone, "SESSION_ERROR", 404),
    (UnknownName, "FACTORY_ERROR", 404),
    (BadArguments, "FACTORY_ERROR", 422),
    (DependencyNotInstalled, "FACTORY_ERROR", 501),
    (DataMissing, "FACTORY_ERROR", 503),
    (SandboxUnavailable, "FACTORY_ERROR", 503),
    (ResetNeeded, "EXECUTION_ERROR", 409),
    (StateError, "EXECUTION_ERROR", 409),
    (CodecError, "EXECUTION_ERROR", 422),
    (Error, "EXECUTION_ERROR", 500),
    (TypeError, "EXECUTION_ERROR", 422),
    (ValueError, "EXECUTION_ERROR", 422),
)


def told(problem: Exception, *, opening: bool = False) -> Told:
    """Return what a client hears of an exception.

    The text of an exception that the server did not foresee stays in its log.

    Args:
        problem: The exception.
        opening: Whether it came up while a session was opened.
    """
    found = next((row for row in _CODES if isinstance(problem, row[0])), None)
    if found is None:
        what = "The environment cannot be made" if opening else "The environment failed"
        code = "FACTORY_ERROR" if opening else "EXECUTION_ERROR"
        return Told(code, f"{what}: {type(problem).__name__}. The server's log says more.")
    _, code, status = found
    if opening and code == "EXECUTION_ERROR":
        code = "FACTORY_ERROR"
    more: dict[str, Any] = {}
    if isinstance(problem, InvalidMessage):
        more = {"errors": problem.errors}
    elif isinstance(problem, InvalidAction):
        more = {"errors": [{"type": "value_error", "loc": ["action"], "msg": _text(problem)}]}
    elif isinstance(problem, CapacityReached):
        more = {"active_sessions": problem.active, "max_sessions": problem.most}
    elif isinstance(problem, SessionGone):
        more = {"why": problem.why}
    return Told(code, _text(problem), status, more)


def _text(problem: Exception) -> str:
    return escaped(str(problem))[:_LONGEST]
