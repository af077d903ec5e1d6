"""NumPy's archives without pickle: headers are matched, never evaluated."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Mapping
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import SubmissionRejected

__all__ = ["check_finite", "read_npz"]

_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: Struct("<H"), 2: Struct("<I"), 3: Struct("<I")}
_HEADER = re.compile(
    rb"\{'descr': '([<>|=][biufcSU][0-9]{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,12}, ?)*[0-9]{0,12})\),? ?\} *\n"
)
_HEADER_BYTES = 1 << 10
_MEMBERS = 10_000
_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


def read_npz(
    name: str, data: bytes, *, max_bytes: int = 1 << 30, finite: bool = True
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file, or the one of an ``.npy`` file as ``"array"``.

    Args:
        name: of the file, for messages.
        data: its contents.
        max_bytes: of all arrays together, unpacked.
        finite: whether numbers must be finite.

    Raises:
        SubmissionRejected: it is malformed, holds objects, duplicates, or too much.
    """
    if data.startswith(_MAGIC):
        arrays = {"array": _array(name, data, max_bytes)}
    else:
        arrays = _members(name, data, max_bytes)
    if finite:
        check_finite(name, arrays)
    return arrays


def check_finite(name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays of numbers that are not finite.

    Raises:
        SubmissionRejected: one has such a number.
    """
    for key, array in arrays.items():
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise SubmissionRejected(f"{name}: {key!r:.60} holds numbers that are not finite.")


def _members(name: str, data: bytes, max_bytes: int) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in _checked(name, archive.infolist(), max_bytes):
                # Never more than the archive's directory claims, whatever is packed.
                with archive.open(info) as member:
                    content = member.read(info.file_size)
                key = info.filename.removesuffix(".npy")
                arrays[key] = _array(f"{name}: {key!r:.60}", content, max_bytes)
    except SubmissionRejected:
        raise
    except Exception as problem:  # broken archives make zipfile raise nearly anything
        raise SubmissionRejected(
            f"{name} is no archive of NumPy arrays: {problem}. Write it with numpy.savez."
        ) from None
    return arrays


def _checked(name: str, infos: list[zipfile.ZipInfo], max_bytes: int) -> list[zipfile.ZipInfo]:
    if len(infos) > _MEMBERS:
        raise SubmissionRejected(f"{name} has {len(infos):,} members; at most {_MEMBERS:,}.")
    if len({info.filename for info in infos}) != len(infos):
        raise SubmissionRejected(f"{name} has two members of one name.")
    for info in infos:
        if not info.filename.endswith(".npy") or info.flag_bits & _ENCRYPTED:
            raise SubmissionRejected(f"{name} holds {info.filename!r:.60}, which is no .npy file.")
        if info.compress_type not in _PACKING:
            raise SubmissionRejected(f"{name} is packed in a way that numpy.savez has not.")
    size = sum(info.file_size for info in infos)
    if size > max_bytes:
        raise SubmissionRejected(f"{name} unpacks to {size:,} bytes; at most {max_bytes:,}.")
    return infos


def _array(where: str, content: bytes, max_bytes: int) -> NDArray[Any]:
    form = _LENGTHS.get(content[6]) if len(content) > 12 and content[:6] == _MAGIC else None
    if form is None:
        raise SubmissionRejected(f"{where} is no NumPy array.")
    start = 8 + form.size
    end = start + form.unpack_from(content, 8)[0]
    # Of a longer one, the product of the axes alone would take hours.
    fits = end - start <= _HEADER_BYTES and end <= len(content)
    match = _HEADER.fullmatch(content[start:end]) if fits else None
    if match is None:
        raise SubmissionRejected(
            f"{where} has a header that is not one of plain numbers or texts; objects and records "
            "are not taken."
        )
    try:
        dtype = np.dtype(match[1].decode())
    except TypeError:
        raise SubmissionRejected(f"{where} has the unknown dtype {match[1].decode()!r}.") from None
    shape = tuple(int(axis) for axis in match[3].replace(b" ", b"").split(b",") if axis)
    size = dtype.itemsize * math.prod(shape)
    # An axis of length 0 must not hide the others, which NumPy limits all the same.
    if (
        dtype.itemsize * math.prod(max(axis, 1) for axis in shape) > max_bytes
        or len(shape) > 32
        # NumPy makes room for texts of no length all the same.
        or not dtype.itemsize
        or size != len(content) - end
    ):
        raise SubmissionRejected(
            f"{where} has {len(content) - end:,} bytes, and its header claims shape {shape} of "
            f"{dtype}; at most {max_bytes:,} are taken."
        )
    if not size:
        return np.zeros(shape, dtype.newbyteorder("="))
    flat = np.frombuffer(content, dtype, offset=end)
    if dtype.kind == "b" and flat.view(np.uint8).max() > 1:
        raise SubmissionRejected(f"{where} holds a byte that is no bool.")
    array = flat.reshape(shape, order="F" if match[2] == b"True" else "C")
    return array.astype(dtype.newbyteorder("="))
