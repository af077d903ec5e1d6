from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ludus.errors import RecordError
from ludus.record import Run, read_run
from ludus.record.format.block import pack_block, parse_block
from ludus.record.format.columns import DTYPES
from ludus.record.format.limits import MAX_BLOCK_BYTES
from tests.record.forging import SUBJECT

ARRAYS = hnp.arrays(
    st.sampled_from(sorted(DTYPES)).map(np.dtype),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=6).filter(lambda s: s[0] > 0),
)


def through_bytes(columns):
    packed = pack_block(columns)
    data = memoryview(b"".join(bytes(part) for part in packed.parts))
    assert len(data) == packed.length
    event = {"offset": 0, "length": packed.length, "rows": packed.rows, "first_row": 5}
    return parse_block(data, event | {"sha256": packed.sha256})


@given(ARRAYS, st.booleans())
def test_every_array_comes_back_to_the_bit(array, constant):
    if constant:
        array = np.repeat(array[:1], len(array), axis=0)
    block = through_bytes({"x": array, "y": np.arange(len(array))})
    assert (block["x"].dtype, block["x"].shape) == (array.dtype, array.shape)
    assert block["x"].tobytes() == array.tobytes()
    assert (block.rows, block.first_row, list(block)) == (len(array), 5, ["x", "y"])


def stored(columns):
    return pack_block(columns).length - pack_block({"x": np.zeros((2, 0))}).length


def test_constant_and_boolean_columns_are_small():
    rows = 4096
    assert stored({"x": np.ones((rows, 64))}) == 64 * 8
    assert stored({"x": np.random.default_rng(0).random((rows, 64)) < 0.5}) == rows * 64 // 8
    assert stored({"x": np.arange(rows, dtype=np.uint8)}) == rows


@pytest.mark.parametrize("where", [1, 63, 64, 65, 500, 999])
def test_one_other_row_is_not_constant(where):
    column = np.zeros(1000, np.float32)
    column[where] = -0.0  # Equal as a number, not as bits.
    back = through_bytes({"x": column})["x"]
    assert np.signbit(back).nonzero()[0].tolist() == [where]


def test_nan_is_kept_to_the_bit():
    column = np.full((100, 2), np.nan)
    column.view(np.uint64)[:, 1] |= 7
    assert through_bytes({"x": column})["x"].tobytes() == column.tobytes()
    assert stored({"x": column}) == 64


def test_foreign_order_and_strides_are_understood():
    table = np.arange(24, dtype=">i4").reshape(6, 4)
    block = through_bytes({"swapped": table, "strided": table[:, ::2].astype("<i4")})
    assert block["swapped"].tolist() == table.tolist()
    assert block["swapped"].dtype == np.dtype("<i4")
    assert block["strided"].tolist() == table[:, ::2].tolist()


def test_arrays_cannot_be_written_to():
    block = through_bytes({"x": np.arange(5), "y": np.ones(5)})
    for name in block:
        with pytest.raises(ValueError, match="read-only"):
            block[name][0] = 3


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "1 to 256 columns"),
        ({str(n): np.zeros(2) for n in range(257)}, "1 to 256 columns"),
        ({"x": np.zeros(2), "y": np.zeros(3)}, "same rows"),
        ({"x": np.zeros((0, 3))}, "at least one"),
        ({"x": np.float64(1)}, "first axis"),
        ({"x": np.zeros((1,) * 18)}, "first axis"),
        ({"x": np.array(["a"])}, "dtype"),
        ({"x": np.array([None])}, "dtype"),
        ({"x": np.zeros(2, complex)}, "dtype"),
        ({"x": np.zeros(2, np.longdouble)}, "dtype"),
        ({"x": np.zeros(2, [("a", int)])}, "dtype"),
        ({"": np.zeros(2)}, "name"),
        ({"é" * 101: np.zeros(2)}, "name"),
        ({1: np.zeros(2)}, "name"),
        ({"x": np.broadcast_to(np.uint8(0), (2, MAX_BLOCK_BYTES, 0))}, "fewer rows"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(tmp_path, columns, words):
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT) as run:
        with pytest.raises(RecordError, match=words):
            run.append_block(columns)
        assert run.rows == 0
        run.append_block({"x": np.arange(3)})
    assert [block["x"].tolist() for block in read_run(tmp_path / "run").blocks()] == [[0, 1, 2]]


def test_rows_are_numbered_through(tmp_path):
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT) as run:
        for rows in (3, 1, 5):
            run.append_block({"x": np.full(rows, rows)})
    blocks = list(read_run(tmp_path / "run").blocks())
    assert [(block.first_row, block.rows) for block in blocks] == [(0, 3), (3, 1), (4, 5)]
    assert [block["x"][0] for block in blocks] == [3, 1, 5]
