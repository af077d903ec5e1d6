"""Watching records while they are written: one reader for each, however many watch.

The writer knows nothing of it. A reader looks at sizes four times a second, decodes what is new
once, and everybody who watches gets the same text.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Look", "Watched", "Watchers"]

EVERY = 0.25
_MOST_STEPS = 300


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a record found.

    Attributes:
        first: Number of the first new step.
        steps: The new steps, rendered.
        now: What is being done, rendered.
        is_over: Whether nobody writes the record any more.
        is_other: Whether what was read before is not in it any more.
        has_failed: Whether nothing could be read.
    """

    first: int
    steps: list[str] = field(default_factory=list)
    now: str = ""
    is_over: bool = False
    is_other: bool = False
    has_failed: bool = False


class Watched:
    """A record that is watched: the last steps, what is being done, and whether it is over.

    Attributes:
        version: Counts the changes.
        next: The number of the step that comes next.
        now: What is being done, rendered.
        is_over: Whether nobody writes the record any more.
        is_other: Whether a resumption has cut what was shown.
        has_failed: Whether it could not be read.
    """

    def __init__(self, look: Callable[[int], Look | None], start: int) -> None:
        self._look, self.next = look, start
        self._steps: deque[tuple[int, str]] = deque(maxlen=_MOST_STEPS)
        self._changed = asyncio.Event()
        self.version = 0
        self.now, self.is_over, self.is_other, self.has_failed = "", False, False, False

    def since(self, number: int) -> list[str] | None:
        """Return the rendered steps from a number on; ``None`` if they are no longer kept."""
        if number < self.next and (not self._steps or number < self._steps[0][0]):
            return None
        return [text for n, text in self._steps if n >= number]

    async def changed(self, version: int, seconds: float) -> bool:
        """Wait until there is another version; return whether there is one in time."""
        if self.version != version:
            return True
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Look until the record is over."""
        while not (self.is_over or self.is_other):
            try:
                found = await asyncio.to_thread(self._look, self.next)
            except Exception:
                # Whatever it is, those who watch must not wait for ever.
                self._take(Look(self.next, has_failed=True))
                raise
            if found is not None:
                self._take(found)
            await asyncio.sleep(EVERY)

    def _take(self, found: Look) -> None:
        self._steps.extend(enumerate(found.steps, found.first))
        self.next = found.first + len(found.steps)
        self.now, self.is_over = found.now, found.is_over
        self.is_other, self.has_failed = found.is_other, found.has_failed
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()


Key = TypeVar("Key")


class Watchers(Generic[Key]):
    """The records that are watched, each read by one task as long as somebody watches."""

    def __init__(self) -> None:
        self._kept: dict[Key, tuple[Watched, asyncio.Task[None]]] = {}
        self._counts: dict[Key, int] = {}

    @property
    def count(self) -> int:
        """How many watch."""
        return sum(self._counts.values())

    @asynccontextmanager
    async def watching(self, key: Key, make: Callable[[], Watched]) -> AsyncIterator[Watched]:
        """Watch a record; the first who does starts its reader, the last stops it."""
        kept = self._kept.get(key)
        if kept is None or kept[1].done():
            watched = make()
            kept = watched, asyncio.create_task(watched.run())
            self._kept[key] = kept
        self._counts[key] = self._counts.get(key, 0) + 1
        try:
            yield kept[0]
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]
                # Another one than at the beginning, if that was over and somebody came later.
                self._kept.pop(key)[1].cancel()
