"""Limits of a server."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.errors import ServeError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the sessions of a server; ``None`` is no limit.

    Attributes:
        sessions: Largest number of sessions at a time.
        per_owner: The same for one owner, such as a client's address.
        envs: Largest number of environments in one session.
        idle_seconds: A session without calls for so long is closed.
        life_seconds: A session this old is closed, whatever it does.

    Raises:
        ServeError: A limit is not positive.
    """

    sessions: int = 256
    per_owner: int | None = None
    envs: int = 4096
    idle_seconds: float | None = 900.0
    life_seconds: float | None = 86_400.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ServeError(
                    f"Limits({name}={value!r}): expected a positive number, or None for no limit."
                )
