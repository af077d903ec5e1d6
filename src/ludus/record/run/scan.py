"""The events of a run folder in order, each held against the chain as it is read."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.errors import RecordDamaged
from ludus.record.format.block import BLOCKS, Block, parse_block
from ludus.record.format.chain import ChainState
from ludus.record.format.disk import Handle
from ludus.record.format.event import EVENTS, Event, parse_line
from ludus.record.format.limits import MAX_LINE_BYTES

__all__ = ["load_block", "scan_events"]


def scan_events(handle: Handle | None, start: ChainState) -> Iterator[tuple[Event, ChainState]]:
    """Yield every whole event, and what the run adds up to with it.

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
            raise RecordDamaged(
                f"{EVENTS} line {number}: it has more than {MAX_LINE_BYTES} bytes.",
                file=EVENTS,
                position=number,
            )
        if not line.endswith(b"\n"):
            return
        event = parse_line(line, number)
        ledger = ledger.after(event, len(line))
        yield event, ledger


def load_block(handle: Handle | None, event: Event) -> Block:
    """Return the block that an event vouches for, read into memory and checked.

    Raises:
        RecordDamaged: Its bytes are not there, or are others.
    """
    if handle is None:
        raise RecordDamaged(f"{BLOCKS} is missing.", file=BLOCKS, position=0)
    return parse_block(handle.read(event.data["offset"], event.data["length"]), event.data)
