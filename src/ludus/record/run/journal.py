"""The two files of a run that grow: first the bytes are written, then the event about them."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ludus.errors import RecordError
from ludus.record.format.block import BLOCKS, pack_block
from ludus.record.format.disk import AppendFile, process_id, reporting
from ludus.record.format.event import (
    COMPLETE,
    EVENTS,
    MANIFEST,
    ChainState,
    Event,
    read_manifest,
    write_line,
)
from ludus.record.format.folder import DRAFT, Folder, lock
from ludus.record.format.signature import SIGNATURE
from ludus.record.run.fsck import Recovery, recover

__all__ = ["Journal", "begin", "begin_again"]


class Journal:
    """Writes ``events.jsonl`` and ``blocks.bin``; it owns the folder and both files.

    Its ledger counts: a call that returns has moved it on, one that raises has not, and bytes in
    the files beyond it are cut off before the next write. Methods raise :class:`RecordError` if the
    disk fails or the data cannot be stored.
    """

    def __init__(
        self, folder: Folder, events: AppendFile, blocks: AppendFile, ledger: ChainState
    ) -> None:
        self.folder = folder
        self.ledger = ledger
        self._events = events
        self._blocks = blocks
        self._process = process_id()
        self._open = True

    @property
    def path(self) -> Path:
        """Of the folder."""
        return self.folder.path

    @property
    def is_open(self) -> bool:
        """Whether it has not been released."""
        return self._open

    def check(self) -> None:
        """Raise ``RecordError`` if it was released, or belongs to another process."""
        if not self._open:
            raise RecordError(f"The run at {self.path} is closed; nothing can be added to it.")
        if process_id() != self._process:
            raise RecordError(
                f"The run at {self.path} belongs to the process that opened it; this one was "
                "forked from it. Record into a folder of its own here."
            )

    def append(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> Event:
        """Write an event; with ``sync``, return when it would survive a power cut."""
        return self.append_all(kind, (data,), sync=sync)[0]

    def append_all(
        self, kind: str, rows: Iterable[Mapping[str, Any]], *, sync: bool = False
    ) -> list[Event]:
        """Write an event for each row of data, all or none, as :meth:`append` does."""
        at = after = self.ledger
        events, lines = [], []
        for data in rows:
            event, line = write_line(after.events, kind, data, after.head)
            after = after.after(event, len(line))
            events.append(event)
            lines.append(line)
        with self.reported("Writing an event to"):
            if sync:
                # A block must not be lost where its event is kept.
                self._blocks.sync()
            self._events.write(at.events_end, lines)
            if sync:
                self._sync_event(at)
        # The one place where the run moves on; an interrupt before it leaves what was.
        self.ledger = after
        return events

    def append_block(self, columns: Mapping[str, NDArray[Any]], *, sync: bool = False) -> Event:
        """Write a block, then its event."""
        block, at = pack_block(columns), self.ledger
        with self.reported("Writing a block to"):
            self._blocks.write(at.blocks_end, block.parts)
        data = {
            "offset": at.blocks_end,
            "length": block.length,
            "rows": block.rows,
            "first_row": at.rows,
            "sha256": block.sha256,
        }
        return self.append("block", data, sync=sync)

    def sync(self) -> None:
        """Return when everything written would survive a power cut."""
        with self.reported("Flushing"):
            self._blocks.sync()
            self._events.sync()

    def cut(self) -> None:
        """Remove whatever lies in the files beyond the ledger."""
        with self.reported("Cutting the torn end of"):
            self._events.cut(self.ledger.events_end)
            self._blocks.cut(self.ledger.blocks_end)

    def reported(self, what: str) -> AbstractContextManager[None]:
        """Raise system errors as ``RecordError`` with what was being done, and what to do."""
        return reporting(f"{what} the run at {self.path}")

    def release(self) -> None:
        """Close the files, and with them the lock; releasing again does nothing."""
        self._open = False
        for item in (self._blocks, self._events, self.folder):
            item.close()

    def _sync_event(self, at: ChainState) -> None:
        try:
            self._events.sync()
        except OSError:
            with contextlib.suppress(OSError):
                self._events.cut(at.events_end)
            raise


def begin(path: str | os.PathLike[str], manifest: bytes) -> Journal:
    """Start a run in a new or empty folder.

    Raises:
        RecordLocked: Another process is writing a run there.
        RecordError: The folder is not empty, or cannot be written; then it is left empty, if
            possible, so that the same call can be made again.
    """
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(Folder.make(path))
        # Before a file is made in a folder that is somebody else's, and once more under the lock.
        _check_vacant(folder)
        events = opened.enter_context(folder.open_append(EVENTS))
        lock(events, folder.path)
        _check_vacant(folder, events)
        opened.callback(_undo, folder, events)
        with reporting(f"Writing the manifest of {folder.path}"):
            folder.replace(MANIFEST, iter([manifest]))
        blocks = opened.enter_context(folder.open_append(BLOCKS))
        journal = Journal(folder, events, blocks, ChainState(hashlib.sha256(manifest).hexdigest()))
        _write_first(journal)
        opened.pop_all()
    return journal


def begin_again(path: str | os.PathLike[str]) -> tuple[Journal, bytes, Recovery]:
    """Resume a run: check it, cut its torn end, and record that in an event.

    Returns:
        The journal, the manifest, and what was found.

    Raises:
        RecordDamaged: More than its end is broken.
        RecordLocked: Another process is writing it.
        RecordError: There is no run, it is complete, or it cannot be written.
    """
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(Folder(path))
        _, manifest = read_manifest(folder)
        events = opened.enter_context(folder.open_append(EVENTS))
        lock(events, folder.path)
        blocks = opened.enter_context(folder.open_append(BLOCKS))
        found = recover(manifest, events, blocks)
        if found.damage:
            raise found.damage[0]
        if found.ledger.outcome == COMPLETE:
            raise RecordError(
                f"The run at {folder.path} is complete; nothing can be added to it. Record into "
                "another folder."
            )
        journal = Journal(folder, events, blocks, found.ledger)
        with journal.reported("Resuming"):
            # A signature is about the end as it was.
            folder.remove(SIGNATURE)
        journal.cut()
        if not found.ledger.events:
            _write_first(journal)
        cut = {
            "cut_bytes": found.torn_events,
            "cut_block_bytes": found.torn_blocks,
            "cut_events": found.lost_events,
        }
        journal.append("resume", cut, sync=True)
        opened.pop_all()
    return journal, manifest, found


def _write_first(journal: Journal) -> None:
    journal.append("open", {}, sync=True)
    with journal.reported("Flushing"):
        journal.folder.sync()


def _check_vacant(folder: Folder, events: AppendFile | None = None) -> None:
    """Raise unless a run may start here; what a killed creation has left is ignored."""
    names = set(folder.names())
    if MANIFEST in names:
        raise RecordError(
            f"There is a run at {folder.path} already. Resume it with Run.resume, or record into "
            "another folder."
        )
    foreign = sorted(names - {EVENTS, MANIFEST + DRAFT})
    if events is not None and events.size:
        foreign.append(EVENTS)
    if foreign:
        raise RecordError(
            f"The folder {folder.path} is not empty ({foreign[0]!r:.100}); a run needs one of its "
            "own."
        )


def _undo(folder: Folder, events: AppendFile) -> None:
    # The events' file stays: another process may be waiting for its lock. A manifest goes last of
    # what matters, so that what is left can always be begun again, or resumed.
    with contextlib.suppress(OSError):
        events.cut(0)
        for name in (BLOCKS, MANIFEST, MANIFEST + DRAFT):
            folder.remove(name)
