"""Where the events of a record begin, and of what kind they are, without decoding them.

The keys of an event are sorted, so ``kind``, ``n`` and ``time`` stand in the last few hundred bytes
of its line, after everything that an agent wrote. An index holds offsets and kinds only: a record
of 100,000 events takes half a second to index and a megabyte to remember. Nothing is verified here.
"""

from __future__ import annotations

import json
import os
import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ludus.errors import RecordDamaged
from ludus.record.format.disk import Handle
from ludus.record.format.event import EVENTS, damaged_line
from ludus.record.format.limits import MAX_LINE_BYTES
from ludus.view.library import Found

__all__ = ["Index", "IndexCache", "RawEvent", "indexes", "open_events", "parsed"]

_CHUNK = 1 << 20
_TAIL = 420
_END = re.compile(
    rb'"hash":"([0-9a-f]{64})","kind":"([a-z][a-z0-9_.-]{0,63})","n":(\d{1,18}),'
    rb'"previous":"[0-9a-f]{64}","time":"([0-9TZ:.-]{20,32})"\}$'
)
_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class RawEvent:
    """An event as its line says, not verified."""

    n: int
    kind: str
    time: str
    hash: str
    data: dict[str, Any]


class Index:
    """Offsets and kinds of the whole lines of one file; extended as the file grows.

    Attributes:
        ends: Where each line ends, in bytes.
        kinds: Numbers in :attr:`names`.
        names: The kinds, as they came.
        broken: The number of the first line that is no event, counted from 1; reading ends there.
    """

    def __init__(self) -> None:
        self.ends = array("Q")
        self.kinds = array("B")
        self.names: list[str] = []
        self.broken: int | None = None
        self._steps = array("Q")
        self._last = b""

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def end(self) -> int:
        """Where the last whole line ends."""
        return self.ends[-1] if self.ends else 0

    @property
    def steps(self) -> array[int]:
        """The numbers of the events ``step`` and ``end``, in order."""
        return self._steps

    def kind(self, number: int) -> str:
        """Return the kind of an event."""
        return self.names[self.kinds[number]]

    def start(self, number: int) -> int:
        """Return where an event's line begins."""
        return self.ends[number - 1] if number else 0

    def numbers(self, *kinds: str) -> list[int]:
        """Return the numbers of all events of some kinds."""
        wanted = {place for place, name in enumerate(self.names) if name in kinds}
        return (
            [number for number, kind in enumerate(self.kinds) if kind in wanted] if wanted else []
        )

    def continues(self, handle: Handle) -> bool:
        """Whether a file still begins with what was indexed, as far as its last line tells."""
        if not self.ends:
            return True
        length = min(len(self._last), self.end)
        return (
            handle.size >= self.end and bytes(handle.read(self.end - length, length)) == self._last
        )

    def extend(self, handle: Handle) -> int:
        """Take the lines that have come since; return how many."""
        before, at, rest = len(self.ends), self.end, b""
        while self.broken is None and (piece := handle.read(at + len(rest), _CHUNK)):
            lines = (rest + bytes(piece)).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if not self._take(line, at):
                    break
                at += len(line) + 1
            if len(rest) > MAX_LINE_BYTES:
                self.broken = len(self.ends) + 1
        return len(self.ends) - before

    def _take(self, line: bytes, start: int) -> bool:
        found = _END.search(line[-_TAIL:])
        if found is None:
            self.broken = len(self.ends) + 1
            return False
        kind = found[2].decode()
        if kind not in self.names:
            if len(self.names) == 255:
                self.broken = len(self.ends) + 1
                return False
            self.names.append(kind)
        self.kinds.append(self.names.index(kind))
        self.ends.append(start + len(line) + 1)
        # Last, because other threads may be reading.
        if kind in ("step", "end"):
            self._steps.append(len(self.ends) - 1)
        self._last = line[-_TAIL:] + b"\n"
        return True

    def event(self, handle: Handle, number: int) -> RawEvent:
        """Return an event.

        Raises:
            RecordDamaged: The line is no event any more.
        """
        start = self.start(number)
        return parsed(bytes(handle.read(start, self.ends[number] - start)), number)

    def events(self, handle: Handle, first: int, last: int) -> Iterator[RawEvent]:
        """Yield the events from ``first`` to before ``last``; one read for all of them."""
        if first >= last:
            return
        base = self.start(first)
        if self.ends[last - 1] - base > MAX_LINE_BYTES:
            for number in range(first, last):
                yield self.event(handle, number)
            return
        content = bytes(handle.read(base, self.ends[last - 1] - base))
        for number in range(first, last):
            yield parsed(content[self.start(number) - base : self.ends[number] - base], number)


def parsed(line: bytes, number: int) -> RawEvent:
    """Return the event of a line; its hash is not compared."""
    try:
        raw = json.loads(line)
        n, data = raw["n"], raw["data"]
        if type(n) is not int or not isinstance(data, dict):
            raise TypeError("n is no number, or data no object")
        return RawEvent(n, str(raw["kind"]), str(raw["time"]), str(raw["hash"]), data)
    except (ValueError, LookupError, TypeError, RecursionError) as problem:
        raise damaged_line(number + 1, f"it is no event: {problem!s:.100}") from problem


class IndexCache:
    """The indexes of the records that were looked at last. May be used by several threads."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._kept: OrderedDict[tuple[str, int, int], tuple[threading.Lock, Index]] = OrderedDict()

    def read(self, record: Found, handle: Handle) -> Index:
        """Return the index of a record's events as the file is now."""
        status = os.fstat(handle.number)
        key = (record.name, status.st_dev, status.st_ino)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            lock, index = self._kept.setdefault(key, (threading.Lock(), Index()))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        with lock:
            if not index.continues(handle):
                # A resumption has cut its end, or it is another record.
                index = Index()
                with self._lock:
                    self._kept[key] = lock, index
            index.extend(handle)
        return index


indexes = IndexCache()
"""Of this process; all pages share it."""


def open_events(record: Found) -> Handle:
    """Open the events of a record.

    Raises:
        RecordError: The record cannot be read, or has no events.
    """
    with record.open() as folder:
        handle = folder.open(EVENTS)
    if handle is None:
        raise RecordDamaged(f"{EVENTS} is missing.", file=EVENTS)
    return handle
