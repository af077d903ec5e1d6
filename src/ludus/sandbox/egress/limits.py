"""Limits of what a sandbox may send and receive through its proxy."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["EgressLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressLimits:
    """Limits of one sandbox's egress.

    Args:
        connections: open at a time.
        requests: connections altogether, refused ones included.
        up: bytes that may be sent to all hosts together.
        down: bytes that may be received from all hosts together.
        seconds: how long one connection may last.
        idle: seconds in which a connection has to carry something.
        head: seconds in which a client has to send its request.

    Raises:
        ValueError: a limit is no positive number.
    """

    connections: int = 32
    requests: int = 10_000
    up: int = 64 << 20
    down: int = 4 << 30
    seconds: float = 1800.0
    idle: float = 120.0
    head: float = 10.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, whole = getattr(self, field.name), isinstance(field.default, int)
            right = type(value) is int or (not whole and type(value) is float)
            if not right or not 0 < value < 1 << 50:
                kind = "whole number" if whole else "number"
                raise ValueError(
                    f"EgressLimits.{field.name} is {value!r}; expected a positive {kind}."
                )
