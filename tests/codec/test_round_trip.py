from __future__ import annotations

import collections
import enum
import math
import pickle
import struct
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.codec import DecodeLimits, decode, digest, encode
from ludus.errors import CodecError, Error
from tests.codec.plain_values import NUMBER_DTYPES, keys, leaves, same, values


@given(values)
@settings(max_examples=200, deadline=None)
def test_what_is_decoded_is_what_was_encoded_to_the_bit(value: Any) -> None:
    data = encode(value)
    assert same(decode(data), value)
    assert encode(decode(data)) == data


@given(values)
@settings(max_examples=50, deadline=None)
def test_every_beginning_of_an_encoding_is_refused(value: Any) -> None:
    data = encode(value)
    for end in range(min(len(data), 200)):
        with pytest.raises(CodecError):
            decode(data[:end])
    with pytest.raises(CodecError, match="follow after the value"):
        decode(data + b"\xc0")


@pytest.mark.parametrize("dtype", NUMBER_DTYPES, ids=str)
def test_arrays_of_every_dtype_come_back_as_owned_writable_aligned_copies(
    dtype: np.dtype[Any],
) -> None:
    for array in (np.ones((3, 2), dtype), np.ones((), dtype), np.zeros((2, 0), dtype)):
        back = decode(encode({"odd": 1, "a": array}))["a"]
        assert same(back, array)
        assert back.flags.owndata
        assert back.flags.writeable
        assert back.flags.aligned
        assert back.flags.c_contiguous


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(24).reshape(2, 3, 4).transpose(),
        np.arange(10)[::-2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["a", "ßß", "漢字😀"]),
        np.array(["a", "b"], dtype=">U5"),
        np.array([b"F", b"HG"]),
        np.array([["S", "F"]], dtype="c"),
    ],
    ids=["foreign order", "transposed", "strided", "Fortran", "texts", ">U", "bytes", "characters"],
)
def test_arrays_in_other_layouts_keep_their_values(array: np.ndarray[Any, Any]) -> None:
    back = decode(encode(array))
    assert back.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(back, array)


def test_floats_keep_the_payload_of_nan_and_the_sign_of_zero() -> None:
    quiet = struct.unpack(">d", bytes.fromhex("7ff8dead00beef01"))[0]
    assert encode(decode(encode(quiet)))[1:].hex() == "7ff8dead00beef01"
    assert math.copysign(1, decode(encode(-0.0))) == -1
    odd = np.frombuffer(bytes.fromhex("0100a07f"), np.float32)  # a signalling nan
    assert decode(encode(odd)).tobytes() == odd.tobytes()
    assert decode(encode(odd[0])).tobytes() == odd.tobytes()


@pytest.mark.parametrize("bits", [5, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 1000])
def test_integers_at_every_border_have_one_encoding(bits: int) -> None:
    for number in (2**bits - 1, 2**bits, 2**bits + 1):
        for signed in (number, -number):
            assert same(decode(encode(signed)), signed)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536])
def test_lengths_at_every_border_have_one_encoding(count: int) -> None:
    for value in (
        "x" * count,
        b"x" * count,
        [None] * count,
        (None,) * count,
        {str(i): i for i in range(count)},
        np.zeros(count, np.uint8),
    ):
        data = encode(value)
        assert same(decode(data), value)


def test_a_state_of_a_generator_survives() -> None:
    state = np.random.Generator(np.random.PCG64(3)).bit_generator.state
    other = np.random.PCG64()
    other.state = decode(encode(state))
    assert np.random.Generator(other).random() == np.random.Generator(np.random.PCG64(3)).random()


class Pair(NamedTuple):
    left: int
    right: Any


class Colour(enum.IntEnum):
    RED = 1000


class Name(str):
    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Pair(1, [2]), (1, [2])),
        (Colour.RED, 1000),
        (Name("kept"), "kept"),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.defaultdict(list, a=[1]), {"a": [1]}),
        (np.str_("text"), "text"),
        (np.bytes_(b"raw"), b"raw"),
        ({Name("key"): 1}, {"key": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_subclasses_are_written_as_the_plain_type(value: Any, plain: Any) -> None:
    assert same(decode(encode(value)), plain)


def test_long_numbers_come_back_as_the_same_width() -> None:
    assert decode(encode(np.longlong(5))) == np.int64(5)
    assert decode(encode(np.array([5], dtype=np.longlong))).dtype == np.int64


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_kinds_of_bytes_are_read(kind: Any) -> None:
    assert decode(kind(encode([1, "a"]))) == [1, "a"]
    with pytest.raises(TypeError):
        decode("text")  # type: ignore[arg-type]


class Thing:
    pass


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ({"a": [0, 1, 2, Thing()]}, "info['a'][3]", "type Thing"),
        ({"a": {7: {1, 2}}}, "info['a'][7]", "type set"),
        ({"a": (1, 2j)}, "info['a'][1]", "type complex"),
        ({"a": np.array([None])}, "info['a']", "dtype object"),
        ({"a": np.zeros(2, "datetime64[s]")}, "info['a']", "dtype datetime64"),
        ({"a": np.zeros(2, [("x", int)])}, "info['a']", r"dtype \[\('x'"),
        ({"a": np.zeros(2, np.longdouble)}, "info['a']", "dtype float128"),
        ({"a": np.longdouble(1)}, "info['a']", "dtype float128"),
        ({"a": np.datetime64(1, "s")}, "info['a']", "dtype datetime64"),
        ({"a": np.ma.masked_array([1, 2], [True, False])}, "info['a']", "type MaskedArray"),
        ({"a": np.zeros((1,) * 33) if np.__version__ >= "2" else Thing()}, "info['a']", "33|Thing"),
        ({"a": "\ud800"}, "info['a']", "UTF-8"),
        ({"a": np.array(["\ud800"])}, "info['a']", "Unicode"),
        ({"a": {"\ud800": 1}}, r"info['a']['\ud800']", "UTF-8"),
        ({"a": {True: 1}}, "info['a'][True]", "key True of type bool"),
        ({"a": {None: 1}}, "info['a'][None]", "NoneType"),
        ({"a": {1.5: 1}}, "info['a'][1.5]", "float"),
        ({"a": {2**64: 1}}, f"info['a'][{2**64}]", "64 bits"),
        ({"a": {10**5000: 1}}, "info['a'][<int>]", "64 bits"),
        ({"a": {(1,): 1}}, "info['a'][<tuple>]", "tuple"),
        ({"a": 2**1024}, "info['a']", "129 bytes"),
        ({"a": lambda: 0}, "info['a']", "type function"),
    ],
    ids=range(22),
)
@pytest.mark.parametrize("canonical", [False, True])
def test_what_is_not_plain_is_refused_with_its_path(
    value: Any, path: str, reason: str, canonical: bool
) -> None:
    with pytest.raises(CodecError, match=reason) as caught:
        encode(value, canonical=canonical, name="info")
    assert caught.value.path == path
    assert path in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, Error)


def test_cycles_are_told_apart_from_depth() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    with pytest.raises(CodecError, match="contains itself"):
        encode({"loop": loop})
    deep: Any = 0
    for _ in range(33):
        deep = [deep]
    with pytest.raises(CodecError, match="nested deeper than 32"):
        encode(deep)
    assert encode(deep[0])


def test_an_expanding_web_of_references_ends_at_the_limits() -> None:
    web: Any = "x" * 1000
    for _ in range(30):
        web = [web] * 10
    with pytest.raises(CodecError, match=r"beyond \d+ (bytes|entries)"):
        encode(web)


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        ([1, 2, 3], DecodeLimits(total_bytes=3)),
        ([[[1]]], DecodeLimits(depth=2)),
        ([[1], {"a": 1}], DecodeLimits(items=3)),
        ("four", DecodeLimits(string_bytes=3)),
        (b"four" * 99, DecodeLimits(string_bytes=300)),
        (np.zeros(4, np.uint8), DecodeLimits(array_bytes=3)),
        (np.zeros((2**20, 0), np.uint8), DecodeLimits(array_bytes=2**19)),
        ({"four": 1}, DecodeLimits(key_bytes=3)),
        ({"f" * 300: 1}, DecodeLimits(key_bytes=299)),
        (2**71, DecodeLimits(integer_bytes=9)),
        ([{1: 1}, {1: 1}], DecodeLimits(int_keys=1)),
    ],
)
def test_each_limit_holds_in_both_directions(value: Any, limits: DecodeLimits) -> None:
    with pytest.raises(CodecError):
        encode(value, limits)
    data = encode(value)
    assert same(decode(data), value)
    with pytest.raises(CodecError):
        decode(data, limits)


@pytest.mark.parametrize("wrong", [{"depth": 201}, {"items": -1}, {"total_bytes": 1.5}])
def test_limits_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DecodeLimits(**wrong)


@given(st.lists(st.tuples(keys, leaves), unique_by=lambda pair: pair[0], max_size=6), st.randoms())
@settings(deadline=None)
def test_the_digest_ignores_the_order_of_entries_only(pairs: Any, random: Any) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert digest([dict(pairs)]) == digest([dict(shuffled)])
    assert digest([dict(pairs)]) != digest([dict(pairs), 0])
    assert encode(dict(shuffled)) == encode(decode(encode(dict(shuffled))))


def test_digests_do_not_change_between_versions() -> None:
    value = {"b": [1, -1, 2.5, None, True], "a": (np.float32(1), np.arange(3)), 7: b"\0", "c": "ü"}
    assert digest(value) == "a890dfffa619024b6fc96fe5838b68ac38215d30635df3add34862986fbfb241"
    assert digest(0) != digest(0.0) != digest(-0.0) != digest(False)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, "c0"),
        (True, "c3"),
        (-1, "ff"),
        (300, "cd012c"),
        (-300, "d1fed4"),
        (1.5, "cb3ff8000000000000"),
        ("a", "a161"),
        (b"a", "c40161"),
        ([1], "9101"),
        ({"a": 1}, "81a16101"),
        ((1,), "92d4010001"),
        (2**64, "c70902010000000000000000"),
        (np.float32(1), "d61a0000803f"),
        (np.array([1, 2], np.uint8), "d7031501000000020102"),
        (np.array([b"x"]), "c70b031e01000000010000000178"),
    ],
    ids=repr,
)
def test_the_format_does_not_change(value: Any, data: str) -> None:
    assert encode(value).hex() == data
    assert same(decode(bytes.fromhex(data)), value)


def test_errors_survive_a_pickle_between_processes() -> None:
    problem = CodecError("text", path="info['a']", position=3)
    copy = pickle.loads(pickle.dumps(problem))
    assert (str(copy), copy.path, copy.position) == ("text", "info['a']", 3)


def test_the_bytes_are_message_pack() -> None:
    msgpack = pytest.importorskip("msgpack")
    value = {"a": [1, -7, 2**40, 1.5, "text" * 20], "b": {"c": None, "d": True}, "e": b"raw" * 99}
    assert msgpack.packb(value) == encode(value)
    kinds = msgpack.unpackb(encode((np.float32(1), 2**70, np.zeros(300))))
    assert [kind.code for kind in kinds] == [1, 26, 2, 3]
