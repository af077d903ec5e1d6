"""Encodes plain data as bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any

import numpy as np

from ludus.codec.arrays import array_payload, scalar_payload
from ludus.codec.limits import DEFAULT_LIMITS, DecodeLimits
from ludus.codec.wire import ARRAY, BIG_INT, TUPLE_MARK, ext_header, sized_header
from ludus.errors import CodecError

__all__ = ["digest", "encode"]

_DOUBLE = Struct(">Bd").pack
_INTEGERS = [
    (0, 2**8 - 1, Struct(">BB").pack, 0xCC),
    (0, 2**16 - 1, Struct(">BH").pack, 0xCD),
    (0, 2**32 - 1, Struct(">BI").pack, 0xCE),
    (0, 2**64 - 1, Struct(">BQ").pack, 0xCF),
    (-(2**7), -1, Struct(">Bb").pack, 0xD0),
    (-(2**15), -1, Struct(">Bh").pack, 0xD1),
    (-(2**31), -1, Struct(">Bi").pack, 0xD2),
    (-(2**63), -1, Struct(">Bq").pack, 0xD3),
]
_BASES = (dict, list, tuple, str, int, float, bytes)


def encode(
    value: Any,
    limits: DecodeLimits = DEFAULT_LIMITS,
    *,
    canonical: bool = False,
    name: str = "value",
) -> bytes:
    """Encode plain data as bytes.

    Plain data are ``None``, bools, ints, floats (to the bit, NaN included), texts, bytes, lists,
    tuples, dicts with text or int keys, NumPy arrays and scalars of numbers, and arrays of texts.
    An instance of a subclass (a named tuple, an enum's member) is decoded as the plain type, an
    array in another byte order as one in native byte order.

    Args:
        value: The value.
        limits: Limits on its size.
        canonical: Sort the entries of dicts, so that equal values have equal bytes.
        name: Name of the value in errors.

    Raises:
        CodecError: A part is not plain data, is too large, or contains itself; ``path`` leads to
            it.
    """
    writer = _Writer(limits, canonical)
    try:
        writer.write(value, limits.depth)
        if len(writer.out) > limits.total_bytes:
            raise _Refused(f"has more than {limits.total_bytes} bytes")
    except _Refused as problem:
        keys = problem.keys[::-1]
        path = name + "".join(f"[{_show(key)}]" for key in keys)
        reason = "contains itself" if _is_cycle(value, keys) else problem.reason
        raise CodecError(f"Cannot encode {path}: it {reason}.", path=path) from None
    return bytes(writer.out)


def digest(value: Any, limits: DecodeLimits = DEFAULT_LIMITS) -> str:
    """Return the SHA-256 of plain data, in hexadecimal; the order of dicts' entries is ignored.

    Raises:
        CodecError: As :func:`encode`.
    """
    return hashlib.sha256(encode(value, limits, canonical=True)).hexdigest()


class _Refused(Exception):
    """A part cannot be encoded; ``keys`` lead to it, the innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.keys: list[Any] = []


class _Writer:
    """Encodes one value."""

    __slots__ = ("_canonical", "_int_keys", "_items", "_limits", "out")

    def __init__(self, limits: DecodeLimits, canonical: bool) -> None:
        self.out = bytearray()
        self._limits = limits
        self._canonical = canonical
        self._items = limits.items
        self._int_keys = limits.int_keys

    def write(self, value: Any, levels: int) -> None:
        """Append a value, which may hold ``levels`` levels of containers."""
        kind = type(value)
        if kind is float:
            self.out += _DOUBLE(0xCB, value)
        elif kind is int:
            if -32 <= value < 128:
                self.out.append(value & 255)
            else:
                self._integer(value)
        elif kind is bool:
            self.out.append(0xC3 if value else 0xC2)
        elif kind is str:
            self._text(value, self._limits.string_bytes)
        elif value is None:
            self.out.append(0xC0)
        elif kind is dict:
            self._dict(value, levels)
        elif kind is list or kind is tuple:
            self._sequence(value, levels)
        elif kind is bytes:
            self._raw(sized_header(0xC4, len(value)), value, self._limits.string_bytes)
        else:
            self._other(value, levels)

    def _integer(self, value: int) -> None:
        for low, high, pack, head in _INTEGERS:
            if low <= value <= high:
                self.out += pack(head, value)
                return
        # One bit more than the magnitude, for the sign.
        length = ((value if value >= 0 else ~value).bit_length() + 8) // 8
        if length > self._limits.integer_bytes:
            raise _Refused(
                f"is an integer of {length} bytes; at most {self._limits.integer_bytes} are allowed"
            )
        self.out += ext_header(length, BIG_INT)
        self.out += value.to_bytes(length, "big", signed=True)

    def _text(self, value: str, limit: int) -> None:
        try:
            raw = value.encode()
        except UnicodeEncodeError:
            raise _Refused(f"is a text that has no form in UTF-8: {value[:40]!r}") from None
        if len(raw) < 32 and len(raw) <= limit:
            self.out.append(0xA0 | len(raw))
            self.out += raw
        else:
            self._raw(sized_header(0xD9, len(raw)), raw, limit)

    def _raw(self, header: bytes, content: bytes, limit: int) -> None:
        if len(content) > limit:
            raise _Refused(f"has {len(content)} bytes; at most {limit} are allowed")
        if len(self.out) + len(content) > self._limits.total_bytes:
            raise _Refused(f"takes the whole beyond {self._limits.total_bytes} bytes")
        self.out += header
        self.out += content

    def _open(self, count: int, levels: int, short: int, base: int) -> None:
        if not levels:
            raise _Refused(f"is nested deeper than {self._limits.depth} levels")
        if count < 16:
            self.out.append(short | count)
        else:
            self.out += sized_header(base, count)

    def _spend(self, count: int) -> None:
        self._items -= count
        if self._items < 0:
            raise _Refused(f"takes the whole beyond {self._limits.items} entries")

    def _sequence(self, value: Any, levels: int) -> None:
        self._spend(len(value))
        if isinstance(value, tuple):
            self._open(len(value) + 1, levels, 0x90, 0xDB)
            self.out += TUPLE_MARK
        else:
            self._open(len(value), levels, 0x90, 0xDB)
        write, levels, index = self.write, levels - 1, 0
        try:
            for index, item in enumerate(value):  # noqa: B007 - the error needs the index
                write(item, levels)
        except _Refused as problem:
            problem.keys.append(index)
            raise

    def _dict(self, value: dict[Any, Any], levels: int) -> None:
        self._spend(len(value))
        self._open(len(value), levels, 0x80, 0xDD)
        out, write, levels = self.out, self.write, levels - 1
        key_limit = self._limits.key_bytes
        entries: Iterable[tuple[Any, Any]] = value.items()
        key: Any = None
        if self._canonical:
            entries = sorted(entries, key=_key_order)
        try:
            for key, item in entries:
                if type(key) is str and len(key) < 32 and key.isascii() and len(key) <= key_limit:
                    out.append(0xA0 | len(key))
                    out += key.encode()
                elif issubclass(type(key), str):
                    self._text(_PLAIN[str](key), key_limit)
                else:
                    self._int_key(key)
                write(item, levels)
        except _Refused as problem:
            problem.keys.append(key)
            raise

    def _int_key(self, key: Any) -> None:
        # Neither bools nor NumPy's integers: they would come back as another type.
        if type(key) is not int or not -(2**63) <= key < 2**64:
            raise _Refused(
                f"belongs to the key {_show(key)} of type {type(key).__name__}; keys are texts, or "
                "ints of 64 bits"
            )
        self._int_keys -= 1
        if self._int_keys < 0:
            raise _Refused(
                f"belongs to one of too many integer keys; {self._limits.int_keys} are allowed, "
                "use texts"
            )
        self.write(key, 0)

    def _other(self, value: Any, levels: int) -> None:
        # Compares types, because isinstance() can be deceived by an object's __class__.
        kind = type(value)
        try:
            if kind is np.ndarray:
                payload = array_payload(value, self._limits)
                header = ext_header(len(payload), ARRAY)
                self._raw(header, payload, len(payload))
                return
            if issubclass(kind, np.generic) and not issubclass(kind, str | bytes):
                code, payload = scalar_payload(value)
                self.out += ext_header(len(payload), code)
                self.out += payload
                return
        except ValueError as problem:
            raise _Refused(f"is {problem}") from None
        for base in _BASES:
            if issubclass(kind, base):
                self.write(_PLAIN[base](value), levels)
                return
        raise _Refused(
            f"is of type {kind.__name__}; plain data are numbers, texts, bytes, lists, "
            "tuples, dicts and NumPy arrays"
        )


_PLAIN: dict[type, Callable[[Any], Any]] = {
    dict: dict,
    list: list,
    tuple: tuple,
    # The constructors would call methods such as __str__ of the subclass.
    str: lambda value: str.__str__(value),
    int: lambda value: int.__int__(value),
    float: lambda value: float.__float__(value),
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
}


def _key_order(entry: tuple[Any, Any]) -> tuple[int, Any]:
    key = entry[0]
    kind = type(key)
    # Other keys are refused later; here they only must not break the sorting.
    return (1, key) if issubclass(kind, str) else (0, key) if kind is int else (2, 0)


def _show(key: Any) -> str:
    plain = type(key) in (str, int, bool, float, type(None))
    # Python refuses to write out an enormous integer.
    if not plain or (type(key) is int and key.bit_length() > 256):
        return f"<{type(key).__name__}>"
    return f"{key!r:.400}"


def _is_cycle(value: Any, keys: list[Any]) -> bool:
    seen = {id(value)}
    for key in keys:
        value = value[key]
        if type(value) in (dict, list, tuple) and id(value) in seen:
            return True
        seen.add(id(value))
    return False
