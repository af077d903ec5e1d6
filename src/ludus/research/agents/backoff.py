"""How long to wait before a failed call is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Backoff", "retry_after"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waiting times that double, scattered so that many agents do not come back at once."""

    first: float = 1.0
    longest: float = 60.0
    longest_asked: float = 600.0
    """A server that asks for more than this is not waited for."""
    sleep: Callable[[float], None] = time.sleep

    def wait(self, attempt: int, asked: float | None, scatter: random.Random) -> float:
        """Return the seconds to wait after so many failures; what a server asks for is kept."""
        if asked is not None:
            return asked
        doubled = self.first * 2.0 ** min(attempt - 1, 60)
        return min(self.longest, doubled) * scatter.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, by either form of ``Retry-After``."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 16:
            return float(text) / unit
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
