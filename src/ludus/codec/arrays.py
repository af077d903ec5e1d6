"""Encoding of NumPy arrays and scalars; their dtypes come from a fixed table."""

from __future__ import annotations

import math
import sys
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.codec.limits import MAX_AXES, DecodeLimits
from ludus.codec.wire import BYTES_CODE, CODES, DTYPES, TEXT_CODE

__all__ = ["array_payload", "read_array", "read_scalar", "scalar_payload"]

_UINT32 = Struct(">I")
_AXES = [Struct(f">BB{axes}I") for axes in range(MAX_AXES + 1)]
_LITTLE = sys.byteorder == "little"
_TEXT_KINDS = {"S": BYTES_CODE, "U": TEXT_CODE}


def array_payload(array: NDArray[Any], limits: DecodeLimits) -> bytes:
    """Return the extension's content for an array.

    Raises:
        ValueError: The dtype has no code, or the array is too large; the text says what it is.
    """
    dtype = array.dtype
    code = CODES.get(dtype)
    if code is None or not _LITTLE:
        dtype = dtype.newbyteorder("<")
        code = CODES.get(dtype) or _TEXT_KINDS.get(dtype.kind)
        if code is None or not dtype.itemsize:
            raise ValueError(
                f"an array of dtype {array.dtype}; use bool, an integer up to 64 bits, a float "
                "or complex of standard size, or texts of fixed width"
            )
        array = array.astype(dtype)
    _check_shape(array.shape, dtype.itemsize, limits)
    header = _AXES[array.ndim].pack(code, array.ndim, *array.shape)
    if code in (BYTES_CODE, TEXT_CODE):
        header += _UINT32.pack(dtype.itemsize)
        if code == TEXT_CODE:
            _check_texts(np.ascontiguousarray(array).view("<u4"))
    return header + array.tobytes()


def scalar_payload(number: np.generic) -> tuple[int, bytes]:
    """Return the extension's code and content for a NumPy scalar.

    Raises:
        ValueError: Its dtype has no code; the text says what it is.
    """
    code = CODES.get(number.dtype)
    if code is None:
        raise ValueError(f"a NumPy scalar of dtype {number.dtype}; convert it to a plain number")
    # tobytes() has native byte order.
    return code, number.tobytes() if _LITTLE else number.astype(DTYPES[code]).tobytes()


def read_scalar(code: int, data: bytes, position: int, length: int) -> np.generic:
    """Undo :func:`scalar_payload` for the content at ``data[position:][:length]``.

    Raises:
        ValueError: The code or the content is wrong; the text is the reason.
    """
    dtype = DTYPES.get(code)
    if dtype is None:
        raise ValueError(f"extension type {code} is unknown")
    if length != dtype.itemsize:
        raise ValueError(f"a scalar of dtype {dtype} has {dtype.itemsize} bytes, here are {length}")
    if dtype.kind == "b" and data[position] > 1:
        raise ValueError(f"a bool is 0 or 1, here is {data[position]}")
    number: np.generic = np.frombuffer(data, dtype, 1, position)[0]
    return number


def read_array(data: bytes, position: int, length: int, limits: DecodeLimits) -> NDArray[Any]:
    """Undo :func:`array_payload`: return a new array, writable and aligned.

    Raises:
        ValueError: The content is not an array, or too large; the text is the reason.
    """
    end = position + length
    if length < 2 or (axes := data[position + 1]) > MAX_AXES or length < 2 + 4 * axes:
        raise ValueError("the header of an array is incomplete or has too many axes")
    code, _, *shape = _AXES[axes].unpack_from(data, position)
    position += 2 + 4 * axes
    dtype = DTYPES.get(code)
    if dtype is None:
        dtype = _text_dtype(code, data, position, end)
        position += 4
    _check_shape(shape, dtype.itemsize, limits)
    count = math.prod(shape)
    if end - position != count * dtype.itemsize:
        raise ValueError(
            f"an array of shape {tuple(shape)} and dtype {dtype} has {count * dtype.itemsize} "
            f"bytes of data, here are {end - position}"
        )
    if not count:
        return np.empty(shape, dtype.newbyteorder("="))
    content = np.frombuffer(data, dtype, count, position)
    if dtype.kind == "b" and content.view(np.uint8).max() > 1:
        raise ValueError("an array of bools holds a byte other than 0 and 1")
    if dtype.kind == "U":
        _check_texts(content.view("<u4"))
    return content.reshape(shape).astype(dtype.newbyteorder("="))


def _text_dtype(code: int, data: bytes, position: int, end: int) -> np.dtype[Any]:
    if code not in (BYTES_CODE, TEXT_CODE):
        raise ValueError(f"dtype code {code} is unknown")
    if end - position < 4:
        raise ValueError("the width of an array of texts is missing")
    width: int = _UINT32.unpack_from(data, position)[0]
    # NumPy keeps the width in a signed int.
    if not 0 < width < 2**31 or (code == TEXT_CODE and width % 4):
        raise ValueError(f"texts of {width} bytes do not exist")
    return np.dtype(f"S{width}" if code == BYTES_CODE else f"<U{width // 4}")


def _check_shape(shape: tuple[int, ...] | list[int], itemsize: int, limits: DecodeLimits) -> None:
    if len(shape) > MAX_AXES:
        raise ValueError(f"an array of {len(shape)} axes; at most {MAX_AXES} are allowed")
    # Axes of length 0 count as 1, because NumPy limits the other axes all the same.
    size = itemsize * math.prod(max(axis, 1) for axis in shape)
    if size > limits.array_bytes:
        raise ValueError(
            f"an array of shape {tuple(shape)} with {size} bytes; "
            f"at most {limits.array_bytes} are allowed"
        )


def _check_texts(points: NDArray[Any]) -> None:
    surrogates = (points >= 0xD800) & (points <= 0xDFFF)
    if points.size and (points.max() > 0x10FFFF or surrogates.any()):
        raise ValueError("an array of texts with something that is no Unicode character")
