"""Which files of the workspace a step has changed, from the snapshots of checkpoints.

Folders are left out; a link counts as a file with its target as content. Names are data: one that
is no text is shown with escapes, a long one is cut. Everything is bounded, since the agent decides
how many files there are, how long their names are, and what they hold.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ludus.sandbox import Snapshot

__all__ = ["LARGEST_TEXT", "Changes", "Listing", "WorkspaceChanges"]

LARGEST_TEXT = 1 << 18
"""Bytes of a text file whose content is recorded."""
_MOST_FILES = 20_000
_REMEMBERED = 1 << 24  # of contents that are kept to compare with, or to be recorded later
_TEXTS, _TEXT_BYTES = 100, 1 << 21  # recorded in one step
_TREE_ROWS, _TREE_BYTES = 2_000, 1 << 18
_CHANGE_ROWS, _CHANGE_BYTES = 500, 1 << 16
_LONGEST_PATH = 1_000
_SLOW, _REST = 0.1, 20.0

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _File:
    sha256: str
    size: int
    text: bytes | None
    """The content, if it is a small text and there was room to remember it."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows for an event; ``left_out`` is how many more there were."""

    rows: list[dict[str, Any]]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Changes(Listing):
    """Changed files, with the contents of small texts before and after, by their SHA-256."""

    texts: dict[str, bytes] = field(default_factory=dict)


class WorkspaceChanges:
    """Compares each snapshot of a workspace with the one before.

    Where a comparison takes long, the next one waits: all of them together take at most a twentieth
    of an episode. Changes are then those since the last comparison.

    Args:
        clock: Seconds of the episode.
        work: Seconds of the processor, which do not depend on how busy the machine is.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock, self._work, self._not_before = clock, work, -1.0
        self._files: dict[Names, _File] | None = None
        self._snapshot: bytes | None = None

    def first(self, snapshot: bytes) -> Listing | None:
        """Return all files of the first snapshot; ``None`` if there are too many."""
        files = self._read(snapshot)
        if files is None:
            return None
        rows = (_row(path, files[path]) for path in _shallow_first(files))
        return _fitting(rows, len(files), _TREE_ROWS, _TREE_BYTES)

    def since(self, snapshot: bytes) -> Changes | None:
        """Return what has changed; ``None`` if that is not known this time."""
        if snapshot == self._snapshot:
            return Changes([])
        if self._clock() < self._not_before:
            return None
        before = self._files
        after = self._read(snapshot)
        if before is None or after is None:
            return None
        return _changes(before, after)

    def _read(self, snapshot: bytes) -> dict[Names, _File] | None:
        began = self._work()
        self._files = _files(snapshot)
        self._snapshot = snapshot if len(snapshot) <= _REMEMBERED else None
        took = self._work() - began
        if took > _SLOW:
            self._not_before = self._clock() + _REST * took
        return self._files


def _files(snapshot: bytes) -> dict[Names, _File] | None:
    """Return the files of a snapshot by their names; ``None`` if there are too many."""
    found: dict[Names, _File] = {}
    room = _REMEMBERED
    # Not restored, and not closed: there is no file behind it.
    for path, _, link, chunks in Snapshot(io.BytesIO(snapshot), 0, 0)._records():
        if chunks is None and link is None:
            continue
        if len(found) >= _MOST_FILES:
            return None
        target = [] if link is None else [link.encode("utf-8", "surrogateescape")]
        made = _read_file(target if chunks is None else chunks, room)
        room -= len(made.text or b"")
        found[path] = made
    return found


def _read_file(chunks: Iterable[bytes], room: int) -> _File:
    digest, size, text = hashlib.sha256(), 0, bytearray()
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        if size <= LARGEST_TEXT:
            text += chunk
    is_text = size <= min(LARGEST_TEXT, room) and 0 not in text
    return _File(digest.hexdigest(), size, bytes(text) if is_text else None)


def _changes(before: Mapping[Names, _File], after: Mapping[Names, _File]) -> Changes:
    paths = [
        path
        for path in before.keys() | after.keys()
        if path not in before or path not in after or before[path].sha256 != after[path].sha256
    ]
    # What was there before comes first, so that many new files do not crowd it out.
    ordered = [
        *_shallow_first(path for path in paths if path in before),
        *_shallow_first(path for path in paths if path not in before),
    ]
    rows = (_change(path, before.get(path), after.get(path)) for path in ordered)
    made = _fitting(rows, len(paths), _CHANGE_ROWS, _CHANGE_BYTES)
    told = [(before.get(path), after.get(path)) for path in ordered[: len(made.rows)]]
    return Changes(made.rows, made.left_out, _texts(told))


def _texts(changed: Iterable[tuple[_File | None, _File | None]]) -> dict[str, bytes]:
    """Return the contents to be recorded, as many as there is room for."""
    texts: dict[str, bytes] = {}
    room = _TEXT_BYTES
    for pair in changed:
        for one in pair:
            if one is None or one.text is None or one.sha256 in texts:
                continue
            if len(texts) < _TEXTS and one.size <= room:
                texts[one.sha256] = one.text
                room -= one.size
    return texts


def _change(path: Names, before: _File | None, after: _File | None) -> dict[str, Any]:
    status = "added" if before is None else "deleted" if after is None else "modified"
    there = after or before
    return {
        "path": _shown(path),
        "status": status,
        "before": before.sha256 if before else "",
        "after": after.sha256 if after else "",
        "bytes": there.size if there else 0,
    }


def _row(path: Names, file: _File) -> dict[str, Any]:
    return {"path": _shown(path), "bytes": file.size, "sha256": file.sha256}


def _fitting(rows: Iterable[dict[str, Any]], count: int, most: int, room: int) -> Listing:
    """Return the first rows, as many as an event has room for, in the order of their paths."""
    kept: list[dict[str, Any]] = []
    for row in rows:
        room -= len(json.dumps(row))
        if room < 0 or len(kept) >= most:
            break
        kept.append(row)
    return Listing(sorted(kept, key=lambda row: str(row["path"])), count - len(kept))


def _shallow_first(paths: Iterable[Names]) -> list[Names]:
    return sorted(paths, key=lambda path: (len(path), path))


def _shown(path: Names) -> str:
    """Return a path as text that a record can hold."""
    text = "/".join(path)[:_LONGEST_PATH]
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
