"""Counts the calls in progress, so that closing can wait for them."""

from __future__ import annotations

import threading
from collections import Counter

__all__ = ["Callers"]


class Callers:
    """Calls in progress, by thread; ``guard`` is the lock under which calls begin."""

    def __init__(self, guard: threading.RLock) -> None:
        self._changed = threading.Condition(guard)
        self._inside: Counter[int] = Counter()

    def enter(self) -> None:
        """Begin a call of this thread."""
        with self._changed:
            self._inside[threading.get_ident()] += 1

    def leave(self) -> None:
        """End it."""
        caller = threading.get_ident()
        with self._changed:
            self._inside[caller] -= 1
            if not self._inside[caller]:
                del self._inside[caller]
            self._changed.notify_all()

    def wait_for_others(self, seconds: float) -> None:
        """Wait until no other thread is in a call; this one may be, that of closing."""
        own = {threading.get_ident()}
        with self._changed:
            self._changed.wait_for(lambda: not self._inside.keys() - own, timeout=seconds)
