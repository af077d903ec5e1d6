"""How a run comes to be written: begun in a folder of its own, or gone on with after a crash."""

from __future__ import annotations

import contextlib
import hashlib
import os

from ludus.errors import RecordError
from ludus.record.format.block import BLOCKS
from ludus.record.format.chain import COMPLETE, ChainState
from ludus.record.format.disk import AppendFile, failure
from ludus.record.format.event import EVENTS
from ludus.record.format.folder import DRAFT, Folder, lock
from ludus.record.format.manifest import MANIFEST, read_manifest
from ludus.record.format.signature import SIGNATURE
from ludus.record.run.journal import Journal
from ludus.record.run.recovery import Recovery, recover

__all__ = ["begin", "begin_again"]


def begin(path: str | os.PathLike[str], manifest: bytes) -> Journal:
    """Begin a run in a new or empty folder.

    Raises:
        RecordLocked: Somebody is writing a run there.
        RecordError: The folder holds something already, or cannot be written; then it is left
            empty, if that can be done, so that the same call can be made again.
    """
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(Folder.make(path))
        # Before a file is made in a folder that is somebody else's, and once more under the lock.
        _check_vacant(folder)
        events = opened.enter_context(folder.open_append(EVENTS))
        lock(events, folder.path)
        _check_vacant(folder, events)
        opened.callback(_undo, folder, events)
        try:
            folder.replace(MANIFEST, iter([manifest]))
        except OSError as problem:
            raise failure(f"Writing the manifest of {folder.path}", problem) from problem
        blocks = opened.enter_context(folder.open_append(BLOCKS))
        journal = Journal(folder, events, blocks, ChainState(hashlib.sha256(manifest).hexdigest()))
        _write_first(journal)
        opened.pop_all()
    return journal


def begin_again(path: str | os.PathLike[str]) -> tuple[Journal, bytes, Recovery]:
    """Go on with a run: check it, cut its torn end, say so in an event.

    Returns:
        What to write with, the manifest, and what was found.

    Raises:
        RecordDamaged: More than its end is broken.
        RecordLocked: Somebody is writing it.
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
            # A signature speaks of the end as it was.
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
    """Raise unless a run may begin here; what a killed creation has left is no obstacle."""
    names = set(folder.names())
    if MANIFEST in names:
        raise RecordError(
            f"There is a run at {folder.path} already. Go on with it by Run.resume, or record into "
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
    # The events' file stays: somebody may be waiting for the lock on it. A manifest goes last of
    # what matters, so that what is left can always be begun again, or resumed.
    with contextlib.suppress(OSError):
        events.cut(0)
        for name in (BLOCKS, MANIFEST, MANIFEST + DRAFT):
            folder.remove(name)
