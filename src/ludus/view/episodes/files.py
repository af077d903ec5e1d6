"""The files of a record, by their hashes: submitted work, outputs, texts of the workspace.

A file is read only if an event of the record names it, and through no symbolic link.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from ludus.errors import RecordDamaged, RecordError, ViewError
from ludus.record.format.disk import Handle
from ludus.record.format.event import file_name_problem
from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.index import Index
from ludus.view.episodes.trajectory import count_of, text_of
from ludus.view.library import Found

__all__ = ["RecordedFile", "content_of", "files_of", "open_file", "open_named"]


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file that an event names."""

    path: str
    sha256: str
    size: int


@dataclass(slots=True)
class _Files:
    lock: threading.Lock = field(default_factory=threading.Lock)
    read: int = 0
    by_hash: dict[str, RecordedFile] = field(default_factory=dict)
    by_path: dict[str, RecordedFile] = field(default_factory=dict)


_kept: WeakKeyDictionary[Index, _Files] = WeakKeyDictionary()
_lock = threading.Lock()


def files_of(episode: EpisodeRecord) -> Mapping[str, RecordedFile]:
    """Return the files that the events of a record name, by path."""
    return _files(episode).by_path


def open_file(episode: EpisodeRecord, digest: str) -> tuple[RecordedFile, Handle]:
    """Open a file of the record by its hash.

    Raises:
        ViewError: The record has no such file, or it is not there.
    """
    return _opened(episode.record, _files(episode).by_hash.get(digest))


def open_named(episode: EpisodeRecord, path: str) -> tuple[RecordedFile, Handle]:
    """Open a file of the record by the path that an event gives it; see :func:`open_file`."""
    return _opened(episode.record, _files(episode).by_path.get(path))


def content_of(episode: EpisodeRecord, digest: str, longest: int) -> bytes | None:
    """Return a file by its hash; ``None`` if it was not kept or is longer."""
    try:
        _, handle = open_file(episode, digest)
    except ViewError:
        return None
    with handle:
        return bytes(handle.read(0, handle.size)) if handle.size <= longest else None


def _opened(record: Found, file: RecordedFile | None) -> tuple[RecordedFile, Handle]:
    if file is None:
        raise ViewError("The record has no such file.")
    try:
        with record.open() as folder:
            handle = folder.open(file.path)
    except RecordDamaged as problem:
        raise ViewError(f"The file cannot be read: {problem}") from problem
    except RecordError as problem:
        raise ViewError("The file cannot be read.") from problem
    if handle is None:
        raise ViewError("The file is missing: the record is damaged.")
    return file, handle


def _files(episode: EpisodeRecord) -> _Files:
    with _lock:
        found = _kept.setdefault(episode.index, _Files())
    with found.lock:
        total = len(episode.index)
        for number in episode.index.numbers("file"):
            if found.read <= number < total:
                data = episode.index.event(episode.handle, number).data
                path, digest = text_of(data.get("path")), text_of(data.get("sha256"))
                if file_name_problem(path) is None and digest:
                    file = RecordedFile(path, digest, count_of(data.get("bytes")) or 0)
                    found.by_path[path] = file
                    found.by_hash.setdefault(digest, file)
        found.read = total
    return found
