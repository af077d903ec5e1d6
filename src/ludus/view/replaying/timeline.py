"""Where the rows and resets of a recording lie, so that it can be entered anywhere.

A *moment* is a whole number: ``2 * row`` is before the step of a row, after the resets that belong
there, and ``2 * row + 1`` is after that step. -1 is before everything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ludus.errors import RecordDamaged
from ludus.record.format.event import Event
from ludus.record.replay.episode_table import Reset, stretches
from ludus.record.run.reader import RunReader

__all__ = ["Place", "Timeline", "after", "before"]

_MOST_RESETS = 2_000_000


def before(row: int) -> int:
    """Return the moment before the step of a row."""
    return 2 * row


def after(row: int) -> int:
    """Return the moment after the step of a row."""
    return 2 * row + 1


@dataclass(frozen=True, slots=True)
class Place:
    """One block: its event and its first row."""

    event: Event
    first: int
    rows: int


class Timeline:
    """The blocks and resets of a recording; the blocks themselves are not kept.

    Raises:
        RecordDamaged: The recording is broken, or has more resets than are held in memory.
    """

    def __init__(self, reader: RunReader) -> None:
        self.places: list[Place] = []
        self.resets: list[Reset] = []
        self.rows = 0
        for event, resets in stretches(reader):
            self.resets += resets
            if len(self.resets) > _MOST_RESETS:
                raise RecordDamaged(f"The recording has more than {_MOST_RESETS:,} resets.")
            if event is not None:
                rows = event.data["rows"]
                self.places.append(Place(event, self.rows, rows))
                self.rows += rows
        self._firsts = [place.first for place in self.places]
        self._reset_rows = [reset.row for reset in self.resets]

    def place_of(self, row: int) -> Place:
        """Return the block that a row lies in; raises ``IndexError`` beyond the last row."""
        if not 0 <= row < self.rows:
            raise IndexError(f"The recording has {self.rows} rows, and none has the number {row}.")
        return self.places[bisect_right(self._firsts, row) - 1]

    def resets_before(self, row: int) -> list[Reset]:
        """Return the resets that were made directly before the step of a row."""
        end = bisect_right(self._reset_rows, row)
        begin = bisect_right(self._reset_rows, row - 1)
        return self.resets[begin:end]

    def resets_back_from(self, row: int) -> Iterator[Reset]:
        """Yield the resets up to a row, the latest first."""
        for index in range(bisect_right(self._reset_rows, row) - 1, -1, -1):
            yield self.resets[index]
