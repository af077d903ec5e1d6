"""A run being written: one folder, one writer, and nothing lost that was reported as written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from ludus.errors import RecordError
from ludus.record.format.disk import open_outside, reporting
from ludus.record.format.event import (
    COMPLETE,
    EVENTS,
    INTERRUPTED,
    OWN_KINDS,
    Event,
    build_manifest,
    file_name_problem,
    parse_manifest,
)
from ludus.record.format.folder import Folder, lock
from ludus.record.format.keys import SigningKey
from ludus.record.format.limits import MAX_FILE_BYTES, MAX_FILES
from ludus.record.format.signature import Signature, make_signature, write_signature
from ludus.record.run.journal import Journal, begin, begin_again
from ludus.record.run.reader import read_run

__all__ = ["Run", "sign_run"]

_MOST_UNFLUSHED = 256


class Run:
    """The only writer of a run folder; a context manager that closes it.

    What :meth:`append`, :meth:`append_block` and :meth:`add_file` have returned is in the files and
    survives the death of this process; with ``sync`` it survives a power cut too. When one of them
    raises, the run is as it was before the call, and later calls may succeed. One thread at a time
    may use it.

    Leaving the context by an exception closes the run as interrupted, which :meth:`resume` undoes.
    """

    def __init__(
        self, journal: Journal, manifest: bytes, key: SigningKey | None, free_files: set[str]
    ) -> None:
        """Not for callers; see :meth:`create` and :meth:`resume`."""
        self.manifest: Mapping[str, Any] = parse_manifest(manifest)
        """What the run is about."""
        self._manifest_hash = hashlib.sha256(manifest).hexdigest()
        self._journal = journal
        self._key = key
        self._free_files = free_files
        self._unflushed: set[str] = set()
        self._started = time.monotonic()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        kind: str,
        subject: Mapping[str, Any],
        key: SigningKey | None = None,
        **manifest_fields: Any,
    ) -> Run:
        """Start a run in a new or empty folder.

        Args:
            path: Of the folder, made if necessary.
            kind: What sort of run it is.
            subject: What it is about.
            key: Signs the run when it is closed.
            manifest_fields: Further fields of the manifest.

        Raises:
            CodecError: The manifest is not plain data.
            RecordLocked: Another process is writing a run there.
            RecordError: The folder is not empty, or cannot be written.
        """
        manifest = build_manifest(kind, subject, manifest_fields)
        return cls(begin(path, manifest), manifest, key, set())

    @classmethod
    def resume(cls, path: str | os.PathLike[str], *, key: SigningKey | None = None) -> Run:
        """Resume a run that was killed or interrupted.

        Everything is checked first. What a crash has left unfinished at the end is cut off, and the
        event ``resume`` says how many bytes that were.

        Raises:
            RecordDamaged: More than the end is broken; see :func:`~ludus.record.run.fsck`.
            RecordLocked: Another process is writing it.
            RecordError: There is no run, it is complete, or it cannot be written.
        """
        journal, manifest, found = begin_again(path)
        return cls(journal, manifest, key, set(found.files))

    @property
    def path(self) -> Path:
        """Of the folder."""
        return self._journal.path

    @property
    def head(self) -> str:
        """Hash of the last event."""
        return self._journal.ledger.head

    @property
    def events_count(self) -> int:
        """Number of events."""
        return self._journal.ledger.events

    @property
    def rows(self) -> int:
        """Rows of all blocks together."""
        return self._journal.ledger.rows

    def append(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> Event:
        """Write an event; when this returns, it is in the file.

        Args:
            kind: A word; those that the run writes by itself are not allowed.
            data: Plain data.
            sync: Return only when this, and all before it, would survive a power cut.

        Raises:
            CodecError: The data is not plain.
            RecordError: The kind is not allowed, the run is closed, or the disk failed.
        """
        if kind in OWN_KINDS:
            raise RecordError(f"Events of the kind {kind!r} are written by the run itself.")
        self._check_open()
        if sync:
            self._flush_files()
        return self._journal.append(kind, data, sync=sync)

    def append_block(self, columns: Mapping[str, NDArray[Any]], *, sync: bool = False) -> Event:
        """Write rows of columns, as for :meth:`append`; all columns have the same number of rows.

        Raises:
            RecordError: The columns cannot be stored, the run is closed, or the disk failed.
        """
        self._check_open()
        if sync:
            self._flush_files()
        return self._journal.append_block(columns, sync=sync)

    def add_file(self, name: str, source: str | os.PathLike[str] | bytes | None = None) -> Event:
        """Put a file into the folder, and record the hash of its content.

        Args:
            name: Path within the folder, with slashes.
            source: A file to copy, or its content; ``None`` if it is in its place already.

        Raises:
            RecordError: The name is not allowed or taken, the source cannot be read, the run is
                closed, or the disk failed.
        """
        self._check_open()
        self._check_name(name)
        self._flush_files()
        with self._journal.reported(f"Storing the file {name!r} in"):
            checksum, size = self._store(name, source)
        data = {"path": name, "sha256": checksum, "bytes": size}
        event = self._journal.append("file", data, sync=True)
        self._free_files.add(name)
        return event

    def add_files(self, contents: Mapping[str, bytes | Path]) -> list[Event]:
        """Put files into the folder as :meth:`add_file` does, all or none, without waiting.

        They survive a power cut from the next call on that returns only when all before it does:
        :meth:`add_file`, :meth:`sync`, :meth:`close`, or one with ``sync``.

        Raises:
            RecordError: As for :meth:`add_file`.
        """
        self._check_open()
        for name in contents:
            self._check_name(name)
        if len(self._free_files) + len(contents) > MAX_FILES:
            raise RecordError(f"The run at {self.path} has too many files.")
        journal = self._journal
        with journal.reported("Storing files in"), contextlib.ExitStack() as opened:
            pieces: dict[str, Iterator[Any]] = {}
            for name, content in contents.items():
                if isinstance(content, Path):
                    pieces[name] = opened.enter_context(open_outside(content)).chunks()
                else:
                    pieces[name] = iter([content])
            stored = journal.folder.replace_all(pieces, flush=False)
        rows = (
            {"path": name, "sha256": made[0], "bytes": made[1]} for name, made in stored.items()
        )
        events = journal.append_all("file", rows)
        self._free_files |= stored.keys()
        self._unflushed |= stored.keys()
        if len(self._unflushed) > _MOST_UNFLUSHED:
            self._flush_files()
        return events

    def sync(self) -> None:
        """Return when everything written so far would survive a power cut.

        Raises:
            RecordError: The run is closed, or the disk failed.
        """
        self._check_open()
        self._flush_files()
        self._journal.sync()

    def close(self, outcome: str = COMPLETE, **data: Any) -> None:
        """Close, flush and, with a key, sign the run; closing again does nothing.

        ``outcome`` is ``"complete"`` or ``"interrupted"``; ``data`` goes into the last event.

        Raises:
            CodecError: The data is not plain.
            RecordError: The disk failed; closing may be tried again.
        """
        journal = self._journal
        if not journal.is_open:
            return
        journal.check()
        if outcome not in (COMPLETE, INTERRUPTED) or data.keys() & {"rows", "seconds"}:
            raise RecordError(
                f"A run is closed as {COMPLETE!r} or {INTERRUPTED!r}, and counts its rows and "
                f"seconds by itself; got {outcome!r} and {sorted(data)}."
            )
        if journal.ledger.outcome is None:
            seconds = round(time.monotonic() - self._started, 6)
            self._flush_files()
            last = {**data, "rows": self.rows, "outcome": outcome, "seconds": seconds}
            journal.append("close", last, sync=True)
        journal.cut()
        with journal.reported("Closing"):
            if self._key is not None:
                at = journal.ledger
                signed = make_signature(self._key, self._manifest_hash, at.head, at.events)
                write_signature(journal.folder, signed)
            journal.folder.sync()
        journal.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            self.close(COMPLETE if kind is None else INTERRUPTED)
        finally:
            self._journal.release()

    def _store(self, name: str, source: str | os.PathLike[str] | bytes | None) -> tuple[str, int]:
        if isinstance(source, bytes):
            return self._journal.folder.replace(name, iter([source]))
        handle = open_outside(source) if source is not None else self._journal.folder.open(name)
        if handle is None:
            raise RecordError(f"There is no file {name!r} in {self.path}; give its source.")
        with handle:
            if handle.size > MAX_FILE_BYTES:
                raise RecordError(f"{name!r} is too large; at most {MAX_FILE_BYTES} are allowed.")
            if source is not None:
                return self._journal.folder.replace(name, handle.chunks())
            handle.flush()
            return handle.sha256()

    def _flush_files(self) -> None:
        if self._unflushed:
            with self._journal.reported("Flushing files of"):
                self._journal.folder.flush(sorted(self._unflushed))
            self._unflushed.clear()

    def _check_name(self, name: str) -> None:
        if problem := file_name_problem(name):
            raise RecordError(f"The name {name!r} of a file {problem}.")
        if name in self._free_files or len(self._free_files) >= MAX_FILES:
            raise RecordError(f"The run has a file {name!r}, or too many; choose another name.")

    def _check_open(self) -> None:
        self._journal.check()
        if self._journal.ledger.outcome is not None:
            raise RecordError(f"The run at {self.path} is closed; nothing can be added to it.")


def sign_run(path: str | os.PathLike[str], key: SigningKey) -> Signature:
    """Sign a closed run: one closed without a key, or killed before it was signed.

    A signature that it has is replaced. Its chain is checked first; its blocks and files are not,
    so run ``fsck`` on what is not yours.

    Raises:
        RecordDamaged: The chain is broken.
        RecordLocked: Another process is writing the run.
        RecordError: There is no run, it is not closed, or the folder cannot be written.
    """
    reader = read_run(path)
    with Folder(path) as folder, contextlib.ExitStack() as opened:
        if (events := folder.open(EVENTS)) is not None:
            lock(opened.enter_context(events), folder.path)
        if not reader.closed:
            raise RecordError(
                f"The run at {folder.path} is not closed, so there is nothing to sign yet. Resume "
                "it with Run.resume, and close it."
            )
        signature = make_signature(key, reader.manifest_hash, reader.head, reader.events_count)
        with reporting(f"Signing the run at {folder.path}"):
            write_signature(folder, signature)
    return signature
