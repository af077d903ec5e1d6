"""The format: MessagePack, with extension types for what it lacks.

==========  =========================================================================
type        form
==========  =========================================================================
tuple       array whose first entry is extension 1 with the single byte 0
big int     extension 2: two's complement, big-endian, the fewest bytes
array       extension 3: dtype code, number of axes, axes as uint32; for texts their
            width in bytes as uint32; then the data, little-endian, last axis fastest
np scalar   extension of its dtype's code: the bytes of the number, little-endian
==========  =========================================================================

Every value has a single encoding, up to the order of a dict's entries: the shortest header, doubles
for floats. A reader that accepts nothing else can compare and hash values by their bytes.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import numpy as np

__all__ = [
    "ARRAY",
    "BIG_INT",
    "BYTES_CODE",
    "CODES",
    "DTYPES",
    "TEXT_CODE",
    "TUPLE_MARK",
    "ext_header",
    "sized_header",
]

BIG_INT, ARRAY = 2, 3
TUPLE_MARK = b"\xd4\x01\x00"

_NAMES = "|b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16"
DTYPES: dict[int, np.dtype[Any]] = dict(enumerate(map(np.dtype, _NAMES.split()), 16))
"""Portable dtypes by their code in the encoding."""

CODES = {form: code for code, dtype in DTYPES.items() for form in (dtype, dtype.newbyteorder("="))}
"""Codes by dtype, little-endian and native byte order."""
BYTES_CODE, TEXT_CODE = 30, 31

_FIXED_EXT = {1: b"\xd4", 2: b"\xd5", 4: b"\xd6", 8: b"\xd7", 16: b"\xd8"}
_UINT8, _UINT16, _UINT32 = (Struct(form).pack for form in (">BB", ">BH", ">BI"))


def ext_header(length: int, code: int) -> bytes:
    """Return the shortest header of an extension."""
    fixed = _FIXED_EXT.get(length)
    head = sized_header(0xC7, length) if fixed is None else fixed
    return head + bytes((code,))


def sized_header(base: int, length: int) -> bytes:
    """Return the shortest of the headers with 8, 16 and 32 bits for the length.

    ``base`` is the one with 8 bits; the others follow it. Lists and dicts have none with 8 bits;
    those below 16 entries have a header of their own, which this function does not return.
    """
    if length < 256 and base in (0xC4, 0xC7, 0xD9):
        return _UINT8(base, length)
    if length < 65536:
        return _UINT16(base + 1, length)
    return _UINT32(base + 2, length)
