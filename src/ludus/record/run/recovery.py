"""How far a run can be believed, and what lies beyond: torn off by a crash, or damage.

A process that is killed leaves at most a line without its end, and bytes of a block that no event
vouches for. A power cut may also lose the end of ``blocks.bin`` and keep the events about it, as
long as nothing after them was flushed. All that is torn, and may be cut; anything else is damage.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from ludus.errors import RecordDamaged
from ludus.record.format.block import BLOCKS
from ludus.record.format.chain import ChainState
from ludus.record.format.disk import Handle
from ludus.record.format.event import EVENTS, Event
from ludus.record.format.limits import MAX_FILES
from ludus.record.run.scan import load_block, scan_events

__all__ = ["Recovery", "recover"]

_FLUSHED = {"file", "resume", "close"}
_MOST_DAMAGE = 100


@dataclass(slots=True)
class Recovery:
    """A run's good beginning, and what is wrong with the rest."""

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
    """Check events and blocks, and tell how far the run goes."""
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
                    f"{BLOCKS} ends at byte {stored}; its events speak of {ledger.blocks_end}.",
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
        line, path = event.n + 1, event.data["path"]
        if path in found.files or len(found.files) >= MAX_FILES:
            raise RecordDamaged(
                f"{EVENTS} line {line}: the file {path!r} is there twice, or one too many.",
                file=EVENTS,
                position=line,
            )
        found.files[path] = event
