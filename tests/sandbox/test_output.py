from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from ludus.sandbox.pump import Output


@given(st.lists(st.binary(max_size=40), max_size=60), st.integers(1, 120))
def test_head_and_tail(chunks, limit):
    output = Output(limit)
    for chunk in chunks:
        output.write(chunk)
    whole = b"".join(chunks)
    kept = output.value()
    assert output.cut == len(whole) - len(kept)
    if len(whole) <= limit:
        assert kept == whole
    else:
        tail = limit // 2
        assert kept == whole[: limit - tail] + whole[len(whole) - tail :]


def test_memory_stays_flat():
    output = Output(1000)
    for _ in range(50_000):
        output.write(b"x")
    assert len(output._tail) <= 1025
    assert sum(sys.getsizeof(piece) for piece in output._tail) < 100_000
    assert output.cut == 49_000
