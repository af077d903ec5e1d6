"""Long texts in windows of lines: a sparse index of line starts, and one read per window."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from ludus.record.format.disk import Handle
from ludus.view.model.ansi import LONGEST_LINE, decoded

__all__ = ["Window", "is_text", "window"]

_EVERY = 1000
_CHUNK = 1 << 20
_WINDOW_BYTES = 1 << 16
_WINDOW_LINES = 500
_MOST_KEPT = 64
_LONGEST_TEXT = 1 << 30  # beyond, lines are not counted: a file may be a hole of terabytes


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a text.

    Attributes:
        first: Number of the first one, from 0.
        lines: The lines, each cut.
        total: Lines of the whole text.
        size: Its bytes.
    """

    first: int
    lines: list[str]
    total: int
    size: int

    @property
    def next(self) -> int | None:
        """Where the next window begins."""
        end = self.first + len(self.lines)
        return end if end < self.total else None

    @property
    def previous(self) -> int | None:
        """Where a window before this one begins."""
        return max(0, self.first - _WINDOW_LINES) if self.first else None


@dataclass(frozen=True, slots=True)
class _Starts:
    """Where every thousandth line begins, and how many lines there are."""

    offsets: list[int]
    total: int


_lock = threading.Lock()
_kept: OrderedDict[tuple[int, int, int, int], _Starts] = OrderedDict()


def window(handle: Handle, first: int) -> Window:
    """Return the lines from number ``first`` on: at most 500, or 64 KiB."""
    starts, size = _starts(handle), handle.size
    first = min(max(0, first), max(0, starts.total - 1))
    offset = _offset(handle, starts, first)
    content = bytes(handle.read(offset, _WINDOW_BYTES))
    pieces = content.split(b"\n")
    at_end = offset + len(content) >= size
    if (at_end and pieces[-1] == b"" and len(pieces) > 1) or (not at_end and len(pieces) > 1):
        pieces.pop()
    return Window(first, [_cut(one) for one in pieces[:_WINDOW_LINES]], starts.total, size)


def is_text(handle: Handle) -> bool:
    """Whether a file looks like text: its beginning has no zero bytes and is mostly UTF-8."""
    head = bytes(handle.read(0, 8192))
    if b"\0" in head:
        return False
    wrong = sum("\udc80" <= one <= "\udcff" for one in decoded(head))
    return wrong <= max(4, len(head) // 20)


def _cut(line: bytes) -> str:
    text = decoded(line)
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]} […more characters]"


def _starts(handle: Handle) -> _Starts:
    status = os.fstat(handle.number)
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    with _lock:
        if (kept := _kept.get(key)) is not None:
            _kept.move_to_end(key)
            return kept
    made = _scan(handle, min(status.st_size, _LONGEST_TEXT))
    with _lock:
        _kept[key] = made
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return made


def _scan(handle: Handle, size: int) -> _Starts:
    offsets, lines, at, last = [0], 0, 0, 10
    while at < size and (piece := handle.read(at, min(_CHUNK, size - at))):
        content = np.frombuffer(piece, np.uint8)
        ends = np.flatnonzero(content == 10)
        # The line with number k begins after end k-1.
        first = _EVERY - 1 - lines % _EVERY
        offsets += (ends[first::_EVERY] + at + 1).tolist()
        lines += len(ends)
        last = int(content[-1])
        at += len(piece)
    return _Starts(offsets, lines + (last != 10))


def _offset(handle: Handle, starts: _Starts, line: int) -> int:
    """Return where a line begins: from the one before that is known, lines are counted."""
    offset, left = starts.offsets[line // _EVERY], line % _EVERY
    while left and (piece := handle.read(offset, _CHUNK)):
        ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == 10)
        if len(ends) >= left:
            return offset + int(ends[left - 1]) + 1
        left -= len(ends)
        offset += len(piece)
    return offset
