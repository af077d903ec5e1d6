"""Check a run folder's integrity, and cut what a crash has left at its end.

A process that is killed leaves at most a line without its end, and bytes of a block without an
event. A power cut may also lose the end of ``blocks.bin`` and keep the events about it, as long as
nothing after them was flushed. All that is torn, and may be cut; anything else is damage.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from ludus.errors import RecordDamaged, RecordError
from ludus.record.format.block import BLOCKS
from ludus.record.format.disk import Handle, reporting
from ludus.record.format.event import (
    EVENTS,
    MANIFEST,
    ChainState,
    Event,
    damaged_line,
    read_manifest,
)
from ludus.record.format.folder import Folder, lock
from ludus.record.format.limits import MAX_FILES, MAX_HASHED_BYTES
from ludus.record.format.signature import SIGNATURE, read_signature
from ludus.record.run.reader import load_block, scan_events

__all__ = ["FsckReport", "Problem", "Recovery", "fsck", "recover"]


_FLUSHED = {"file", "resume", "close"}
_MOST_DAMAGE = 100


@dataclass(slots=True)
class Recovery:
    """The intact beginning of a run, and what is wrong with the rest."""

    ledger: ChainState
    """At the end of what is good, as far as there is no damage."""
    torn_events: int = 0
    """Bytes of ``events.jsonl`` beyond it."""
    torn_blocks: int = 0
    """Bytes of ``blocks.bin`` beyond it."""
    lost_events: int = 0
    """Whole events among the torn bytes."""
    files: dict[str, Event] = field(default_factory=dict)
    """Its events ``file``, by path."""
    damage: list[RecordDamaged] = field(default_factory=list)
    """The first of what a crash does not explain."""


def recover(manifest: bytes, events: Handle, blocks: Handle | None) -> Recovery:
    """Check events and blocks, and return how far the run is intact."""
    found = Recovery(ChainState(hashlib.sha256(manifest).hexdigest()))
    stored = blocks.size if blocks else 0
    cut_at: ChainState | None = None
    try:
        for event, ledger in scan_events(events, found.ledger):
            if cut_at is None and ledger.blocks_end > stored:
                # Perhaps the run is being written, and has grown.
                stored = blocks.size if blocks else 0
                cut_at = found.ledger if ledger.blocks_end > stored else None
            if cut_at is None:
                _check(event, blocks, found)
            elif event.kind in _FLUSHED:
                raise RecordDamaged(
                    f"{BLOCKS} ends at byte {stored}; its events need {ledger.blocks_end}.",
                    file=BLOCKS,
                    position=stored,
                )
            else:
                found.lost_events += 1
            found.ledger = ledger
            if len(found.damage) >= _MOST_DAMAGE:
                return found
    except RecordDamaged as problem:
        found.damage.append(problem)
        return found
    found.ledger = cut_at or found.ledger
    if stored and not found.ledger.events:
        # Blocks come after the first event, which is flushed.
        found.damage.append(
            RecordDamaged(f"{EVENTS} is empty, and {BLOCKS} is not.", file=EVENTS, position=1)
        )
        return found
    found.torn_events = events.size - found.ledger.events_end
    found.torn_blocks = stored - found.ledger.blocks_end
    return found


def _check(event: Event, blocks: Handle | None, found: Recovery) -> None:
    if event.kind == "block":
        try:
            load_block(blocks, event)
        except RecordDamaged as problem:
            found.damage.append(problem)
    elif event.kind == "file":
        path = event.data["path"]
        if path in found.files or len(found.files) >= MAX_FILES:
            raise damaged_line(event.n + 1, f"the file {path!r} is there twice, or one too many")
        found.files[path] = event


_OWN = {MANIFEST, EVENTS, BLOCKS, SIGNATURE}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a run folder."""

    file: str | None
    position: int | None
    """The line of ``events.jsonl``, from 1, or the byte of another file."""
    message: str
    repairable: bool = False
    """Whether it is what a crash leaves, and is cut by a repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FsckReport:
    """What was found in a run folder."""

    path: Path
    events: int = 0
    rows: int = 0
    outcome: str | None = None
    """``"complete"`` or ``"interrupted"``; ``None`` if the run was never closed."""
    being_written: bool = False
    """Another process has it open; what is unfinished is then no problem."""
    torn_events: int = 0
    """Bytes at the end of ``events.jsonl`` that are no whole event, or whose blocks are lost."""
    torn_blocks: int = 0
    """Bytes at the end of ``blocks.bin`` that belong to no event."""
    repaired: bool = False
    """Whether the torn bytes have been cut."""
    problems: tuple[Problem, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Names in the folder that no event mentions; they are left alone."""
    unread: str | None = None
    """Why the free files were not read, if they were not."""
    head: str | None = None
    """Hash of the last good event."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong (any more)."""
        return not self.problems


def fsck(
    path: str | os.PathLike[str],
    repair: bool = False,
    *,
    head: str | None = None,
    within: str | os.PathLike[str] | None = None,
    max_file_bytes: int = MAX_HASHED_BYTES,
) -> FsckReport:
    """Check a run folder: the chain, every block, every file; nothing in it is trusted.

    Args:
        path: Of the folder.
        repair: Cut what a crash has left at the end. A folder with other problems is not touched.
        head: The chain head that the run must have.
        within: A folder above it, below which no symbolic link is followed.
        max_file_bytes: Most bytes of free files to read; with more, none is read, and
            :attr:`FsckReport.unread` says so.

    Raises:
        RecordLocked: A repair was asked for, and another process is writing the run.
        RecordError: There is no folder, or it cannot be read or repaired.
    """
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(Folder(path, within=within))
        report = FsckReport(path=folder.path)
        try:
            manifest = read_manifest(folder)[1]
            events = opened.enter_context(_open(folder, EVENTS))
            blocks = folder.open(BLOCKS)
        except RecordDamaged as problem:
            return replace(report, problems=(_problem(problem),))
        if blocks is not None:
            opened.enter_context(blocks)
        if repair:
            lock(events, folder.path)
        else:
            report = replace(report, being_written=_is_taken(events))
        found = recover(manifest, events, blocks)
        report = _judge(folder, found, report, head, max_file_bytes)
        if repair and report.problems and all(problem.repairable for problem in report.problems):
            _cut(folder, found)
            report = replace(report, problems=(), repaired=True)
    return report


def _judge(
    folder: Folder, found: Recovery, report: FsckReport, head: str | None, max_file_bytes: int
) -> FsckReport:
    at = found.ledger
    problems = [_problem(item) for item in found.damage]
    if not found.damage and not report.being_written:
        problems += _torn(found)
    if not found.damage and head not in (None, at.head):
        other = (
            f"{EVENTS}: the run ends in {at.head:.12}…, and {head:.12}… is expected: it is another "
            "one, or was changed meanwhile."
        )
        problems.append(Problem(EVENTS, None, other))
    size, unread = sum(event.data["bytes"] for event in found.files.values()), None
    if size > max_file_bytes:
        unread = (
            f"{len(found.files)} files with {size} bytes were not read, because at most "
            f"{max_file_bytes} are"
        )
    for event in () if unread else found.files.values():
        if message := _file_problem(folder, event):
            problems.append(Problem(event.data["path"], None, message))
    if message := _signature_problem(folder, found):
        problems.append(Problem(SIGNATURE, None, message))
    return replace(
        report,
        events=at.events,
        rows=at.rows,
        outcome=at.outcome,
        torn_events=found.torn_events,
        torn_blocks=found.torn_blocks,
        problems=tuple(problems),
        unlisted=_unlisted(folder, found),
        unread=unread,
        head=at.head,
    )


def _torn(found: Recovery) -> list[Problem]:
    at, problems = found.ledger, []
    if not at.events:
        message = "The run was stopped before its first event; Run.resume begins it."
        problems.append(Problem(EVENTS, 1, message, repairable=True))
    if found.torn_events:
        message = (
            f"{EVENTS} line {at.events + 1}: its last {found.torn_events} bytes are torn: "
            f"{found.lost_events} events whose blocks are lost, and what is no whole event."
        )
        problems.append(Problem(EVENTS, at.events + 1, message, repairable=True))
    if found.torn_blocks:
        message = (
            f"{BLOCKS} byte {at.blocks_end}: its last {found.torn_blocks} bytes belong to no event."
        )
        problems.append(Problem(BLOCKS, at.blocks_end, message, repairable=True))
    return problems


def _file_problem(folder: Folder, event: Event) -> str | None:
    name, size = event.data["path"], event.data["bytes"]
    try:
        handle = folder.open(name)
    except RecordError as problem:
        return str(problem)
    if handle is None:
        return f"{name} is missing; event {event.n} records it."
    with handle:
        # The size first, so that no more is read than the event says.
        if handle.size != size:
            return f"{name} has {handle.size} bytes; event {event.n} records {size}."
        if handle.sha256()[0] != event.data["sha256"]:
            return f"{name} does not have the hash that event {event.n} states."
    return None


def _signature_problem(folder: Folder, found: Recovery) -> str | None:
    try:
        signature = read_signature(folder)
    except RecordError as problem:
        return str(problem)
    at = found.ledger
    if signature is None or found.damage:
        return None
    if at.outcome is None or (signature.head, signature.events) != (at.head, at.events):
        return f"{SIGNATURE} is about another run, or another end of this one."
    return None


def _unlisted(folder: Folder, found: Recovery) -> tuple[str, ...]:
    known = _OWN | {path.split("/")[0] for path in found.files}
    return tuple(name for name in folder.names() if name not in known)


def _cut(folder: Folder, found: Recovery) -> None:
    # The lock is on the file, and stays with the handle that the caller holds.
    with reporting(f"Repairing the run at {folder.path}"):
        for name, end in ((BLOCKS, found.ledger.blocks_end), (EVENTS, found.ledger.events_end)):
            with folder.open_append(name) as file:
                file.cut(end)
                file.sync()


def _is_taken(events: Handle) -> bool:
    try:
        return not events.lock(shared=True)
    except OSError:
        return False  # The file system has no locks, so none is held.


def _open(folder: Folder, name: str) -> Handle:
    handle = folder.open(name)
    if handle is None:
        raise RecordDamaged(f"{name} is missing in {folder.path}.", file=name)
    return handle


def _problem(damage: RecordDamaged) -> Problem:
    return Problem(damage.file, damage.position, str(damage))
