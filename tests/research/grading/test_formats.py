"""Readers of submitted data: what honest libraries write, and what nobody honest does."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ludus.errors import SubmissionRejected
from ludus.research.grading.formats import (
    Column,
    read_csv,
    read_json,
    read_npz,
    read_safetensors,
    read_text,
)

# --- tables -----------------------------------------------------------------------------------


def test_table_comes_back_in_the_order_of_the_ids():
    data = b'id,price,name,sold\r\n3,1e3,"a,b",True\r\n1,-.5,"say ""hi""",0\r\n'
    columns = {"id": int, "price": float, "name": str, "sold": bool}
    table = read_csv("t.csv", data, columns, ids=[1, 3])
    assert table["id"].tolist() == [1, 3]
    assert table["price"].tolist() == [-0.5, 1000.0]
    assert table["name"].tolist() == ['say "hi"', "a,b"]
    assert table["sold"].tolist() == [False, True]
    assert len(table) == 2


def test_ids_may_be_texts():
    table = read_csv("t.csv", b"id,x\nb,1\na,2\n", {"id": str, "x": int}, ids=["a", "b"])
    assert table["x"].tolist() == [2, 1]


def test_rows_without_ids_are_counted():
    assert read_csv("t.csv", b"label\n1\n2\n", {"label": int}, rows=2)["label"].tolist() == [1, 2]
    with pytest.raises(SubmissionRejected, match="2 rows, expected 3"):
        read_csv("t.csv", b"label\n1\n2\n", {"label": int}, rows=3)
    with pytest.raises(SubmissionRejected, match="more than 1 rows, at line 3"):
        read_csv("t.csv", b"label\n1\n2\n", {"label": int}, max_rows=1)


@pytest.mark.parametrize(
    ("column", "field"),
    [
        (Column(int, 0, 9), "10"),
        (Column(float, 0, 1), "-0.001"),
        (Column(int, choices=frozenset({0, 1})), "2"),
        (Column(str, length=3), "abcd"),
        (int, "1.0"),
        (int, ""),
        (int, " 1"),
        (int, "9" * 19),
        (float, "1e999"),
        (float, "infinity"),
        (float, "0x10"),
        (float, "1,5"),
        (bool, "yes"),
    ],
)
def test_fields_that_are_refused_name_their_place(column, field):
    data = f'x\n0\n"{field}"\n'.encode()
    with pytest.raises(SubmissionRejected, match="t.csv, line 3, column x"):
        read_csv("t.csv", data, {"x": column})


def test_what_the_grader_asks_wrongly_is_no_fault_of_the_submission():
    with pytest.raises(ValueError, match="more than once"):
        read_csv("t.csv", b"id\n1\n2\n", {"id": int}, ids=[1, 1, 2])
    with pytest.raises(ValueError, match="columns"):
        read_csv("t.csv", b"", {})
    with pytest.raises(ValueError, match="kind"):
        Column(complex)


def test_table_in_another_encoding():
    with pytest.raises(SubmissionRejected, match="UTF-8"):
        read_csv("t.csv", "id\né\n".encode("latin-1"), {"id": str})


# --- arrays -----------------------------------------------------------------------------------

ARRAYS = {
    "doubles": np.arange(6.0).reshape(2, 3),
    "columns first": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    "big endian": np.arange(4, dtype=">f4"),
    "bools": np.array([True, False]),
    "texts": np.array(["a", "bc"]),
    "nothing": np.zeros((0, 3)),
    "a number": np.array(5, np.uint8),
    "complex": np.array([1 + 2j]),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_numpy(save):
    file = io.BytesIO()
    save(file, **ARRAYS)
    found = read_npz("a.npz", file.getvalue())
    assert found.keys() == ARRAYS.keys()
    for key, array in ARRAYS.items():
        assert np.array_equal(found[key], array), key
        assert found[key].dtype == array.dtype.newbyteorder("=")


@pytest.mark.parametrize("key", ARRAYS)
def test_one_array_of_numpy(key):
    file = io.BytesIO()
    np.save(file, ARRAYS[key])
    assert np.array_equal(read_npz("a.npy", file.getvalue())["array"], ARRAYS[key])


def npy(header: bytes, body: bytes = b"", version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + body


def members(*pairs: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in pairs:
            archive.writestr(name, data)
    return file.getvalue()


ONE = npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", bytes(8))
ODD_ARRAYS = {
    "objects": npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", b"."),
    "records": npy(b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n"),
    "code in the header": npy(b"{'descr': __import__('os').getcwd(), 'shape': (1,), }\n"),
    "more than there is": npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999,), }\n"
    ),
    "hidden by a zero": npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 999999999999), }\n"
    ),
    "less than there is": npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", bytes(16)
    ),
    "no bool": npy(b"{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }\n", b"\x07"),
    "an unknown width": npy(b"{'descr': '<f7', 'fortran_order': False, 'shape': (1,), }\n", b"1"),
    # Their product has millions of digits.
    "a million axes": npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': ("
        + b"999999999999, " * 1_000_000
        + b"), }\n",
        version=2,
    ),
    "another version": npy(b"{}\n", version=9),
    "a cut header": ONE[:20],
    "nan": npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", struct.pack("<d", np.nan)
    ),
    "a member twice": None,
    "a foreign member": members(("a.npy", ONE), ("evil.py", b"x")),
    "a path": members(("../a.npy", b"x")),
}


@pytest.mark.parametrize("name", ODD_ARRAYS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_odd_arrays_are_refused(name):
    data = ODD_ARRAYS[name]
    if data is None:
        data = members(("a.npy", ONE), ("a.npy", ONE))
    with pytest.raises(SubmissionRejected):
        read_npz("a.npz", data)


def test_lengths_that_lie_are_found():
    data = bytearray(members(("a.npy", ONE)))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)  # unpacked size in the directory
    with pytest.raises(SubmissionRejected):
        read_npz("a.npz", bytes(data))


def test_nan_may_be_asked_for():
    assert np.isnan(read_npz("a.npy", ODD_ARRAYS["nan"], finite=False)["array"]).all()


# --- tensors ----------------------------------------------------------------------------------


def safetensors(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_tensors():
    body = np.arange(6, dtype="<f4").tobytes() + b"\x01\x00" + b"\x80\x3f"
    header = {
        "__metadata__": {"format": "pt"},
        "weight": entry("F32", [2, 3], 0, 24),
        "mask": entry("BOOL", [2], 24, 26),
        "half": entry("BF16", [1], 26, 28),
        "empty": entry("I64", [0], 28, 28),
    }
    found = read_safetensors("m.safetensors", safetensors(header, body))
    assert found["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["mask"].tolist() == [True, False]
    assert found["half"].tolist() == [1.0]
    assert found["half"].dtype == np.float32
    assert found["empty"].shape == (0,)
    assert read_safetensors("m.safetensors", safetensors({})) == {}


F4 = bytes(4)
ODD_TENSORS = {
    "nothing": b"",
    "a short file": b"\x01\x02",
    "a header beyond the file": struct.pack("<Q", 1 << 40) + b"{}",
    "a header of nothing": struct.pack("<Q", 0),
    "a list": safetensors([]),
    "no JSON": safetensors(b"{nope}"),
    "a name twice": safetensors(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b"x",
    ),
    "deep": safetensors(b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
    "an overlap": safetensors(
        {"a": entry("F32", [1], 0, 4), "b": entry("U8", [2], 3, 5)}, F4 + b"x"
    ),
    "the same bytes twice": safetensors(
        {"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 0, 4)}, F4
    ),
    "a gap": safetensors({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"xyz"),
    "bytes left over": safetensors({"a": entry("U8", [1], 0, 1)}, b"xy"),
    "beyond the end": safetensors({"a": entry("F32", [2], 0, 8)}, F4),
    "a wrong size": safetensors({"a": entry("F32", [2], 0, 4)}, F4),
    "backwards": safetensors({"a": entry("U8", [1], 1, 0)}, b"x"),
    "a negative shape": safetensors({"a": entry("F32", [-1, -1], 0, 4)}, F4),
    "a bool as shape": safetensors({"a": entry("F32", [True], 0, 4)}, F4),
    "a giant shape": safetensors({"a": entry("U8", [2**47, 0], 0, 0)}),
    "an unknown type": safetensors({"a": entry("F4", [1], 0, 4)}, F4),
    "an object": safetensors({"a": entry("O", [1], 0, 4)}, F4),
    "a further field": safetensors({"a": {**entry("F32", [1], 0, 4), "x": 1}}, F4),
    "metadata of numbers": safetensors({"__metadata__": {"a": 1}}),
    "nan": safetensors({"a": entry("F32", [1], 0, 4)}, struct.pack("<f", np.nan)),
    "nan in half precision": safetensors({"a": entry("BF16", [1], 0, 2)}, b"\xc0\x7f"),
    "a byte that is no bool": safetensors({"a": entry("BOOL", [1], 0, 1)}, b"\x02"),
}


@pytest.mark.parametrize("name", ODD_TENSORS)
def test_odd_tensors_are_refused(name):
    with pytest.raises(SubmissionRejected):
        read_safetensors("m.safetensors", ODD_TENSORS[name])


# --- JSON and text ----------------------------------------------------------------------------


def test_json_values():
    value = {"a": [1, 2.5, None, True, "é"], "b": {}}
    assert read_json("a.json", json.dumps(value).encode()) == value


ODD_JSON = {
    "nothing": b"",
    "nan": b"[NaN]",
    "infinity": b"-Infinity",
    "a float beyond floats": b"1e999",
    "a long integer": b"1" * 5000,
    "a key twice": b'{"a": 1, "a": 2}',
    "deep": b"[" * 100 + b"]" * 100,
    "very deep": b"[" * 1_000_000,
    "two values": b"1 2",
    "another encoding": b"\xff\xfe1",
    "a NUL": b'"\x00"',
}


@pytest.mark.parametrize("name", ODD_JSON)
def test_odd_json_is_refused(name):
    with pytest.raises(SubmissionRejected):
        read_json("a.json", ODD_JSON[name])


def test_text():
    assert read_text("a.txt", "né\n".encode()) == "né\n"
    with pytest.raises(SubmissionRejected, match="byte 1"):
        read_text("a.txt", b"n\xe9")


READERS = [
    lambda data: read_csv("f", data, {"id": int, "x": float}, ids=[1, 2]),
    lambda data: read_npz("f", data),
    lambda data: read_safetensors("f", data),
    lambda data: read_json("f", data),
    lambda data: read_text("f", data),
]
SEEDS = [
    b"id,x\n1,2\n2,3\n",
    ONE,
    members(("a.npy", ONE)),
    safetensors({"a": entry("F32", [1], 0, 4)}, F4),
    b'{"a": [1, 2.0]}',
]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), max_size=6),
)
def test_changed_bytes_are_read_or_refused_and_nothing_else(seed, changes):
    data = bytearray(seed)
    for place, piece in changes:
        place %= len(data) + 1
        data[place : place + len(piece)] = piece
    for read in READERS:
        with suppress(SubmissionRejected):
            assert read(bytes(data)) is not None
