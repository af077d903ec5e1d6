"""The two files of a run that grow, kept in step: first the bytes, then the event about them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ludus.errors import RecordError
from ludus.record.format.block import pack_block
from ludus.record.format.chain import ChainState
from ludus.record.format.disk import AppendFile, failure, process_id
from ludus.record.format.event import Event, write_line
from ludus.record.format.folder import Folder

__all__ = ["Journal"]


class Journal:
    """What writes ``events.jsonl`` and ``blocks.bin``; it owns the folder and both files.

    Its ledger is the truth: a call that returns has moved it on, one that raises has not, and what
    lies in the files beyond it is cut off before the next write.
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
        """Raise unless it may be written to.

        Raises:
            RecordError: It was released, or belongs to another process.
        """
        if not self._open:
            raise RecordError(f"The run at {self.path} is closed; nothing can be added to it.")
        if process_id() != self._process:
            raise RecordError(
                f"The run at {self.path} belongs to the process that opened it; this one was "
                "forked from it. Record into a folder of its own here."
            )

    def append(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> Event:
        """Write an event.

        Raises:
            CodecError: The data is not plain.
            RecordError: The event cannot be written.
        """
        at = self.ledger
        event, line = write_line(at.events, kind, data, at.head)
        after = at.after(event, len(line))
        with self.reported("Writing an event to"):
            if sync:
                # What an event vouches for must not be lost where the event is kept.
                self._blocks.sync()
            self._events.write(at.events_end, [line])
            if sync:
                self._sync_event(at)
        # The one place where the run moves on; an interrupt before it leaves what was.
        self.ledger = after
        return event

    def append_block(self, columns: Mapping[str, NDArray[Any]], *, sync: bool = False) -> Event:
        """Write a block, then the event that vouches for it.

        Raises:
            RecordError: The block cannot be stored or written.
        """
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
        """Return when everything written would survive a power cut.

        Raises:
            RecordError: It might not.
        """
        with self.reported("Flushing"):
            self._blocks.sync()
            self._events.sync()

    def cut(self) -> None:
        """Remove from the files whatever lies beyond the ledger.

        Raises:
            RecordError: That cannot be done.
        """
        with self.reported("Cutting the torn end of"):
            self._events.cut(self.ledger.events_end)
            self._blocks.cut(self.ledger.blocks_end)

    @contextlib.contextmanager
    def reported(self, what: str) -> Iterator[None]:
        """Turn what the system raises into errors that say what was being done, and what to do."""
        try:
            yield
        except OSError as problem:
            raise failure(f"{what} the run at {self.path}", problem) from problem

    def release(self) -> None:
        """Close the files, and with them the lock; again is allowed."""
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
