"""Limits of a server."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ludus.errors import ServeError

__all__ = ["Limits", "Rates"]

_MOST_KNOWN = 10_000


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


class Rates:
    """Counts requests by owner, with a budget that refills with time.

    Args:
        per_second: Requests that an owner may make in the long run; ``None`` is no limit.
        burst: Requests at once; by default two seconds' worth.
    """

    def __init__(
        self,
        per_second: float | None,
        burst: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._clock = per_second, clock
        self._burst = max(1.0, 2 * (per_second or 0.0)) if burst is None else burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, owner: str) -> bool:
        """Count one request; return whether it is within the limit."""
        if self._rate is None:
            return True
        now = self._clock()
        left, then = self._left.pop(owner, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        self._left[owner] = (max(0.0, left - 1.0), now) if left >= 1.0 else (left, now)
        # Who was not seen for the longest time has a full budget again, or is one of very many.
        while len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return left >= 1.0
