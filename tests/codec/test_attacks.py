"""What an enemy might send, and that nothing but a CodecError comes of it."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from ludus.codec import DecodeLimits, decode, encode
from ludus.codec.wire import ext_header
from ludus.errors import CodecError

U32 = struct.Struct(">I").pack
U16 = struct.Struct(">H").pack
FIRED: list[str] = []


class Exploit:
    def __reduce__(self) -> Any:
        return (FIRED.append, ("ran",))


def ext(code: int, content: bytes) -> bytes:
    return ext_header(len(content), code) + content


def array(code: int, shape: tuple[int, ...], content: bytes, width: bytes = b"") -> bytes:
    return ext(3, bytes((code, len(shape))) + b"".join(map(U32, shape)) + width + content)


def npz_with_objects() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.array([Exploit()], dtype=object))
    return file.getvalue()


ATTACKS = {
    "nothing": (b"", "ends in the middle"),
    "never used header": (b"\xc1", "does not begin a value"),
    "trailing byte": (b"\xc0\xc0", "follow after the value"),
    "trailing value": (encode([1]) + encode([2]), "follow after the value"),
    "pickle, protocol 0": (pickle.dumps(Exploit(), 0), "follow after the value"),
    "pickle, protocol 4": (pickle.dumps(Exploit(), 4), "follow after the value"),
    "pickle, protocol 5": (pickle.dumps(Exploit(), 5), "follow after the value"),
    "npz of objects": (npz_with_objects(), "follow after the value"),
    "str32 bomb": (b"\xdb" + U32(2**32 - 1) + b"x", "a text or bytes object has"),
    "bin32 bomb": (b"\xc6" + U32(2**32 - 1) + b"x", "a text or bytes object has"),
    "array32 bomb": (b"\xdd" + U32(2**32 - 1) + b"\xc0", "claims 4294967295 entries"),
    "map32 bomb": (b"\xdf" + U32(2**32 - 1) + b"\xa1a\xc0", "claims 4294967295 entries"),
    "ext32 bomb": (b"\xc9" + U32(2**32 - 1) + b"\x03" + b"x", "ends in the middle"),
    "nested array32 bombs": (
        (b"\xdd" + U32(100_000)) * 30 + b"\xc0" * 100_000,
        "more than 1000000 entries",
    ),
    "nested map32 bombs": (
        (b"\xdf" + U32(70_000) + b"\xa0") * 30 + b"\xc0" * 140_000,
        "more than 1000000 entries",
    ),
    "array of a terabyte": (array(21, (2**20, 2**20), b"x"), "at most 67108864"),
    "array of overflowing shape": (array(20, (2**31, 2**31, 2**31), b""), "at most 67108864"),
    "array whose size wraps to its data": (
        array(20, (2**32 - 1, 2**31 + 1), b"\0" * 8),
        "at most 67108864",
    ),
    "empty array of overflowing shape": (
        array(20, (0, 2**32 - 1, 2**32 - 1, 2**32 - 1), b""),
        "at most 67108864",
    ),
    "negative axis": (array(21, (2**32 - 1,), b"x"), "at most 67108864"),
    "data too short": (array(26, (3,), b"\0" * 11), "bytes of data, here are"),
    "data too long": (array(26, (3,), b"\0" * 13), "bytes of data, here are"),
    "array without header": (ext(3, b"\x15\x01\x00"), "incomplete or has too many axes"),
    "array of 33 axes": (array(21, (1,) * 33, b"x"), "incomplete or has too many axes"),
    "array of 255 axes": (ext(3, b"\x15\xff" + b"\0" * 50), "incomplete or has too many axes"),
    "array of objects": (array(ord("O"), (1,), b"\0" * 8), r"dtype code \d+ is unknown"),
    "array of unknown dtype": (array(15, (1,), b"\0" * 8), r"dtype code \d+ is unknown"),
    "array of dtype 0": (array(0, (1,), b"\0" * 8), r"dtype code \d+ is unknown"),
    "texts of width 0": (array(31, (4,), b"", U32(0)), "do not exist"),
    "texts of odd width": (array(31, (1,), b"\0" * 6, U32(6)), "do not exist"),
    "texts of enormous width": (array(31, (1,), b"", U32(2**32 - 4)), "do not exist"),
    "bytes of enormous width": (array(30, (0,), b"", U32(2**32 - 1)), "do not exist"),
    "texts without width": (ext(3, b"\x1f\x00"), "width of an array of texts is missing"),
    "texts beyond Unicode": (array(31, (1,), b"\xff\xff\xff\xff", U32(4)), "no Unicode character"),
    "texts of surrogates": (array(31, (1,), b"\x00\xd8\x00\x00", U32(4)), "no Unicode character"),
    "bools of 2": (array(16, (2,), b"\x01\x02"), "other than 0 and 1"),
    "bool scalar of 2": (b"\xd4\x10\x02", "is 0 or 1"),
    "scalar of wrong size": (b"\xd6\x1b\0\0\0\0", "has 8 bytes, here"),
    "scalar of wrong size in a long header": (ext(27, b"\0" * 7), "has 8 bytes, here"),
    "mark of a tuple alone": (b"\xd4\x01\x00", r"extension type \d+ is unknown"),
    "mark of a tuple as second entry": (b"\x92\xc0\xd4\x01\x00", r"extension type \d+ is unknown"),
    "mark of a tuple as a dict's value": (
        b"\x81\xa1a\xd4\x01\x00",
        r"extension type \d+ is unknown",
    ),
    "mark of a tuple after an empty list": (b"\x92\x90\xd4\x01\x00", "outside of its list"),
    "mark of a tuple with another byte": (b"\x91\xd4\x01\x01", r"extension type \d+ is unknown"),
    "forged extension": (b"\xd4\x7f\x00", r"extension type \d+ is unknown"),
    "timestamp": (b"\xd6\xff\0\0\0\0", r"extension type \d+ is unknown"),
    "empty extension": (b"\xc7\x00\x03", "incomplete or has too many axes"),
    "extension in a long header": (b"\xc8" + U16(1) + b"\x10\x01", "shortest header"),
    "extension not in its fixed header": (b"\xc7\x01\x10\x01", "shortest header"),
    "big int that is small": (ext(2, b"\0\0\0\0\0\0\0\0\x01"), "shortest form"),
    "big int with a needless byte": (ext(2, b"\0" + (2**80).to_bytes(11, "big")), "shortest form"),
    "big int of nothing": (b"\xc7\x00\x02", "shortest form"),
    "big int of a thousand bytes": (b"\xc8" + U16(1000) + b"\x02" + b"\x7f" * 1000, "at most 128"),
    "key twice": (b"\x82\xa1a\x01\xa1a\x02", "occurs twice"),
    "key twice in two forms": (b"\x82\xa1a\x01\xd9\x01a\x02", "shortest form"),
    "int key twice": (b"\x82\x01\x01\x01\x02", "occurs twice"),
    "int key twice in two forms": (b"\x82\x01\x01\xcc\x01\x02", "shortest form"),
    "null key": (b"\x81\xc0\x01", "neither a text nor"),
    "bool key": (b"\x81\xc3\x01", "neither a text nor"),
    "float key": (b"\x81\xcb\0\0\0\0\0\0\0\0\x01", "neither a text nor"),
    "bytes key": (b"\x81\xc4\x01a\x01", "neither a text nor"),
    "list key": (b"\x81\x90\x01", "neither a text nor"),
    "big int key": (b"\x81" + encode(2**70) + b"\x01", "neither a text nor"),
    "invalid UTF-8": (b"\xa2\xff\xfe", "not valid UTF-8"),
    "overlong UTF-8": (b"\xa2\xc0\x80", "not valid UTF-8"),
    "surrogate in UTF-8": (b"\xa3\xed\xa0\x80", "not valid UTF-8"),
    "invalid UTF-8 in a key": (b"\x81\xa1\xff\x01", "not valid UTF-8"),
    "float32": (b"\xca\0\0\0\0", "does not begin a value"),
    "uint8 below 128": (b"\xcc\x05", "shortest form"),
    "uint64 below 2**32": (b"\xcf" + b"\0" * 8, "shortest form"),
    "int8 above -33": (b"\xd0\xff", "shortest form"),
    "int64 that is positive": (b"\xd3" + b"\x7f" + b"\0" * 7, "shortest form"),
    "str8 below 32": (b"\xd9\x01a", "shortest form"),
    "bin16 below 256": (b"\xc5\x00\x01a", "shortest form"),
    "array16 below 16": (b"\xdc\x00\x01\xc0", "shortest form"),
    "map32 below 65536": (b"\xdf\0\0\0\x01\xa1a\xc0", "shortest form"),
    "nested lists": (b"\x91" * 100_000 + b"\xc0", "nested deeper than 32"),
    "nested dicts": (b"\x81\xa1a" * 100_000 + b"\xc0", "nested deeper than 32"),
    "nested tuples": (b"\x92\xd4\x01\x00" * 100_000 + b"\xc0", "nested deeper than 32"),
}


@pytest.mark.parametrize(("data", "reason"), ATTACKS.values(), ids=ATTACKS.keys())
def test_attacks_end_in_a_codec_error(data: bytes, reason: str) -> None:
    FIRED.clear()
    with pytest.raises(CodecError, match=reason) as caught:
        decode(data)
    assert caught.value.position is not None
    assert 0 <= caught.value.position <= len(data)
    assert f"byte {caught.value.position}" in str(caught.value)
    assert FIRED == []


@pytest.mark.parametrize("name", [name for name in ATTACKS if "bomb" in name or "array of" in name])
def test_bombs_take_no_memory(name: str) -> None:
    data, _ = ATTACKS[name]
    tracemalloc.start()
    try:
        with pytest.raises(CodecError):
            decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000 + 20 * len(data)


def test_memory_stays_in_proportion_to_the_bytes() -> None:
    # One byte makes an empty dict; nothing grows by more than that.
    data = b"\xdd" + U32(70_000) + b"\x80" * 70_000
    tracemalloc.start()
    try:
        decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(data)


def test_depth_does_not_depend_on_the_room_on_pythons_stack() -> None:
    limits = DecodeLimits(depth=200)
    data = b"\x91" * 200 + b"\xc0"

    def at(depth: int) -> Any:
        return decode(data, limits) if depth == 0 else at(depth - 1)

    assert at(sys.getrecursionlimit() - 200) is not None
    with pytest.raises(CodecError, match="deeper than 200"):
        decode(b"\x91" * 201 + b"\xc0", limits)


def test_colliding_integer_keys_are_limited() -> None:
    slot, mask, taken = 0, 2**16 - 1, []
    for _ in range(20_000):  # the order in which a dict looks for a free place
        taken.append(slot)
        slot = (5 * slot + 1) & mask
    data = b"\xde" + U16(len(taken)) + b"".join(encode(key) + b"\xc0" for key in taken)
    with pytest.raises(CodecError, match="more than 10000 integer keys"):
        decode(data)
    assert len(decode(data, DecodeLimits(int_keys=20_000))) == 20_000


def test_memory_that_its_writer_still_holds_is_copied_first() -> None:
    shared = bytearray(encode({"a": np.zeros(4)}))
    value = decode(memoryview(shared))
    shared[-1] = 255
    assert not value["a"].any()
