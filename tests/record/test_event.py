"""Events read from their lines: what is read again is the same, and nobody's changes show in it."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import RecordDamaged
from ludus.record.format.event import parse_line, write_line

DATA = {
    "flat": {"row": 3, "seed": 2**63, "options": None, "done": True, "score": 0.5, "name": "x"},
    "nested": {"options": {"low": [1, 2]}},
    "array": {"values": np.arange(3)},
    "long": {"text": "x" * 5000},
}


@pytest.mark.parametrize("name", DATA)
def test_lines_are_read_again_as_they_were_written(name):
    written, line = write_line(7, "reset", DATA[name], "0" * 64)
    for _ in range(3):
        event = parse_line(line, 1)
        assert (event.n, event.kind, event.hash) == (7, "reset", written.hash)
        assert repr(sorted(event.data.items())) == repr(sorted(DATA[name].items()))
        # Whoever changes what they were given changes it for themselves.
        for value in event.data.values():
            if isinstance(value, dict):
                value["low"].append(3)
            elif isinstance(value, np.ndarray):
                value[0] = 9
        event.data["more"] = 1


def test_a_changed_line_is_damaged_after_the_right_one_was_read():
    _, line = write_line(7, "reset", DATA["flat"], "0" * 64)
    parse_line(line, 1)
    for number in range(1, len(line) - 1, 7):
        changed = line[:number] + bytes([line[number] ^ 1]) + line[number + 1 :]
        with pytest.raises(RecordDamaged, match=f"line {number}:"):
            parse_line(changed, number)
