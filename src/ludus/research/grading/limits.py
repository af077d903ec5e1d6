"""Limits of a grading."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GradingLimits"]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingLimits:
    """Limits of one grading. Seconds are by the host's clock.

    Args:
        start: seconds until both sandboxes run.
        load: seconds to import a submitted file.
        call: seconds of a call, where the grader names no limit.
        code: seconds of all calls and imports together.
        grader: seconds of the grader's own work.
        message_bytes: the largest question or answer.
        printed_bytes: what submitted code may print.
        memory: of each sandbox; ``None`` where it cannot be limited.
        cpus: of each sandbox, likewise.
        pids: processes and threads of submitted code.
        disk: what submitted code may write.

    Raises:
        ValueError: a time or a size is not above 0.
    """

    start: float = 60.0
    load: float = 60.0
    call: float = 60.0
    code: float = 1800.0
    grader: float = 1800.0
    message_bytes: int = 64 * _MIB
    printed_bytes: int = 4 * _MIB
    memory: int | str | None = "2G"
    cpus: float | None = 1.0
    pids: int = 64
    disk: int = 64 * _MIB

    def __post_init__(self) -> None:
        for name in ("start", "load", "call", "code", "grader", "message_bytes", "printed_bytes"):
            value = getattr(self, name)
            if not 0 < value < 2**31:
                raise ValueError(f"GradingLimits.{name} is {value!r}; expected more than 0.")
