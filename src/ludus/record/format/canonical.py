"""Plain data as one JSON text and no other: equal values have equal bytes, so they can be hashed.

Keys are sorted, nothing is spaced, text is UTF-8. What JSON cannot say is said by a dict of one
key: ``{"$float": "nan"}`` (or ``inf``, ``-inf``), and ``{"$codec": base64}`` for arrays, tuples,
bytes and whatever else :mod:`ludus.codec` encodes.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any

from ludus.codec import decode, encode
from ludus.errors import CodecError

__all__ = ["MAX_CONTAINERS", "MAX_DEPTH", "dumps", "loads"]

MAX_DEPTH = 48
"""Lists and dicts inside each other."""

MAX_CONTAINERS = 100_000
"""Brackets and braces that open: three bytes of text can be an object of a hundred."""

_JSON_BITS = 1024  # Longer integers are for the codec, which has a limit of its own.
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_AS_IT_IS = {str, bool, type(None)}
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def _refuse_constant(name: str) -> None:
    raise CodecError(f"it holds {name}, which is no JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def dumps(value: Any) -> bytes:
    """Return the canonical JSON of plain data; raises ``CodecError`` if it is not plain."""
    try:
        text = _encode(_to_json(value, MAX_DEPTH)).encode()
    except UnicodeEncodeError:
        raise CodecError(
            "Cannot write a text with half a surrogate pair in it: it is no valid Unicode. "
            "Replace it, or pass it as bytes."
        ) from None
    if _containers(text) > MAX_CONTAINERS:
        raise CodecError(
            f"Cannot write data with more than {MAX_CONTAINERS} lists, dicts, brackets and braces; "
            "use arrays, or a file."
        )
    return text


def loads(text: bytes) -> Any:
    """Return the value that :func:`dumps` wrote; the bytes need not be trusted.

    Raises:
        CodecError: The bytes are not what :func:`dumps` writes for any value; the message is the
            reason, to be put after the place.
    """
    if _containers(text) > MAX_CONTAINERS:
        raise CodecError(f"it holds more than {MAX_CONTAINERS} lists, dicts, brackets and braces")
    try:
        raw = _decode(text.decode())
        value = _from_json(raw, MAX_DEPTH)
        if _encode(raw).encode() != text:
            raise CodecError("it is JSON, but not in canonical form")
    except CodecError:
        raise
    except RecursionError:
        raise CodecError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as problem:
        raise CodecError(f"it is no valid JSON: {problem}") from None
    return value


def _containers(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _to_json(value: Any, depth: int) -> Any:
    if type(value) in _AS_IT_IS or isinstance(value, str):
        return value
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else {"$float": str(number)}
    if isinstance(value, int):
        number = int(value)
        return number if number.bit_length() <= _JSON_BITS else _coded(number)
    if not depth:
        raise CodecError(f"Cannot write data nested deeper than {MAX_DEPTH} levels; flatten it.")
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) or key.startswith("$") for key in value):
            return _coded(dict(value))
        return {key: _to_json(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_json(item, depth - 1) for item in value]
    return _coded(value)


def _coded(value: Any) -> dict[str, str]:
    return {"$codec": base64.b64encode(encode(value, canonical=True)).decode()}


def _from_json(raw: Any, depth: int) -> Any:
    if isinstance(raw, list | dict) and not depth:
        raise CodecError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(raw, list):
        return [_from_json(item, depth - 1) for item in raw]
    if isinstance(raw, dict):
        if len(raw) == 1 and (special := _SPECIAL.get(next(iter(raw)))):
            return special(next(iter(raw.values())))
        if any(key.startswith("$") for key in raw):
            raise CodecError("it holds a key with $ that means nothing")
        return {key: _from_json(item, depth - 1) for key, item in raw.items()}
    return raw


def _read_float(raw: Any) -> float:
    if not isinstance(raw, str) or raw not in _FLOATS:
        raise CodecError(f"it holds a $float that is none of {', '.join(_FLOATS)}")
    return _FLOATS[raw]


def _read_codec(raw: Any) -> Any:
    try:
        return decode(base64.b64decode(raw, validate=True))
    except (TypeError, binascii.Error):
        raise CodecError("it holds a $codec that is no base64") from None


_SPECIAL = {"$float": _read_float, "$codec": _read_codec}
