"""Reading run folders: manifest, events and blocks, checked as they are read."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ludus.errors import RecordDamaged
from ludus.record.format.block import BLOCKS, Block, parse_block
from ludus.record.format.disk import Handle
from ludus.record.format.event import (
    EVENTS,
    ChainState,
    Event,
    damaged_line,
    parse_line,
    read_manifest,
)
from ludus.record.format.folder import Folder
from ludus.record.format.limits import MAX_LINE_BYTES
from ludus.record.format.signature import Signature, read_signature

__all__ = ["RunReader", "load_block", "read_run", "scan_events"]


def scan_events(handle: Handle | None, start: ChainState) -> Iterator[tuple[Event, ChainState]]:
    """Yield every whole event, and the state of the run after it.

    A last line without its end was being written; it is left out, and ``events_end`` tells where it
    begins.

    Raises:
        RecordDamaged: A line is no event, or not the one that belongs there.
    """
    ledger = start
    if handle is None:
        return
    for number, line in enumerate(handle.lines(MAX_LINE_BYTES), 1):
        if len(line) > MAX_LINE_BYTES:
            raise damaged_line(number, f"it has more than {MAX_LINE_BYTES} bytes")
        if not line.endswith(b"\n"):
            return
        event = parse_line(line, number)
        ledger = ledger.after(event, len(line))
        yield event, ledger


def load_block(handle: Handle | None, event: Event) -> Block:
    """Return the block of an event, read into memory and checked."""
    if handle is None:
        raise RecordDamaged(f"{BLOCKS} is missing.", file=BLOCKS, position=0)
    return parse_block(handle.read(event.data["offset"], event.data["length"]), event.data)


def read_run(
    path: str | os.PathLike[str],
    *,
    head: str | None = None,
    within: str | os.PathLike[str] | None = None,
) -> RunReader:
    """Open a run folder for reading; nothing is written, and nothing in it is trusted.

    Args:
        path: Of the folder.
        head: The chain head that the run must have, each time that all its events are read, so that
            several readings are of the same run even if others can write to the folder.
        within: A folder above it, below which no symbolic link is followed.

    Raises:
        RecordDamaged: Its manifest is damaged.
        RecordError: There is no run.
    """
    with Folder(path, within=within) as folder:
        manifest, content = read_manifest(folder)
    return RunReader(Path(path), manifest, hashlib.sha256(content).hexdigest(), head, within)


class RunReader:
    """A run on disk.

    Every iteration reads the files again, so a run that is being written is seen as far as it is.
    Whatever reads events or blocks raises :class:`RecordDamaged` where the chain or a block is
    broken.
    """

    def __init__(
        self,
        path: Path,
        manifest: Mapping[str, Any],
        manifest_hash: str,
        head: str | None = None,
        within: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path, self._wanted, self._within = path, head, within
        self.manifest = manifest
        """What the run is about."""
        self.manifest_hash = manifest_hash
        """SHA-256 of the manifest's bytes, where the chain begins."""

    @property
    def events(self) -> Iterator[Event]:
        """The events in order, each checked before it is yielded."""
        for event, _ in self.scan():
            yield event

    def scan(self) -> Iterator[tuple[Event, ChainState]]:
        """Yield each event with the state of the run after it; as :attr:`events`."""
        ledger = ChainState(self.manifest_hash)
        with self._open(EVENTS) as handle:
            for event, ledger in scan_events(handle, ChainState(self.manifest_hash)):
                yield event, ledger
        if self._wanted not in (None, ledger.head):
            raise RecordDamaged(
                f"{EVENTS}: the run ends in {ledger.head:.12}…, and {self._wanted:.12}… is "
                "expected: it is another one, or was changed meanwhile.",
                file=EVENTS,
            )

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order, one in memory at a time if none is kept."""
        with self._open(BLOCKS) as handle:
            for event in self.events:
                if event.kind == "block":
                    yield load_block(handle, event)

    def block(self, event: Event) -> Block:
        """Return the block of an event of the kind ``block``."""
        with self._open(BLOCKS) as handle:
            return load_block(handle, event)

    def signature(self) -> Signature | None:
        """Return the signature in the folder, ``None`` if there is none; it is not checked."""
        with Folder(self.path, within=self._within) as folder:
            return read_signature(folder)

    @cached_property
    def ledger(self) -> ChainState:
        """The state after all events, as of the first time it was asked for."""
        ledger = ChainState(self.manifest_hash)
        for _, ledger in self.scan():  # noqa: B007, the last one counts
            pass
        return ledger

    @property
    def rows(self) -> int:
        """Rows of all blocks together."""
        return self.ledger.rows

    @property
    def events_count(self) -> int:
        """Number of events."""
        return self.ledger.events

    @property
    def head(self) -> str:
        """Hash of the last event."""
        return self.ledger.head

    @property
    def closed(self) -> bool:
        """Whether the run was closed."""
        return self.ledger.outcome is not None

    @property
    def outcome(self) -> str | None:
        """``"complete"`` or ``"interrupted"`` once the run is closed."""
        return self.ledger.outcome

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[Handle | None]:
        with Folder(self.path, within=self._within) as folder:
            handle = folder.open(name)
        with handle or contextlib.nullcontext():
            yield handle
