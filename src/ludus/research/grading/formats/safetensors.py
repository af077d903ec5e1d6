"""Tensors in the safetensors format, read by its specification with nothing left over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import SubmissionRejected
from ludus.research.grading.formats.npz import check_finite
from ludus.research.grading.formats.texts import read_json

__all__ = ["read_safetensors"]

_HEADER_BYTES = 16 << 20
_TENSORS = 100_000
_DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    # The upper half of a float32, for which NumPy has no type.
    "BF16": np.dtype("<u2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_FIELDS = {"dtype", "shape", "data_offsets"}


def read_safetensors(name: str, data: bytes, *, finite: bool = True) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file; those of type BF16 come as float32.

    Args:
        name: of the file, for messages.
        data: its contents.
        finite: whether numbers must be finite.

    Raises:
        SubmissionRejected: the header is malformed, tensors overlap or leave gaps, or a type is
            unknown.
    """
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= size <= min(_HEADER_BYTES, len(data) - 8):
        raise SubmissionRejected(
            f"{name} is no safetensors file: its header has {size:,} bytes by its own word, the "
            f"file {len(data):,}; at most {_HEADER_BYTES:,} are taken."
        )
    header = read_json(f"{name} (header)", data[8 : 8 + size], depth=3)
    if type(header) is not dict or len(header) > _TENSORS:
        raise SubmissionRejected(f"{name} has a header that is no table of tensors.")
    metadata = header.pop("__metadata__", {})
    if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
        raise SubmissionRejected(f"{name} has __metadata__ that is no table of texts.")
    body = memoryview(data)[8 + size :]
    tensors, spans = {}, []
    for key, entry in header.items():
        tensors[key], span = _tensor(f"{name}: {key!r:.60}", entry, body)
        spans.append(span)
    _check_cover(name, spans, len(body))
    if finite:
        check_finite(name, tensors)
    return tensors


def _tensor(where: str, entry: Any, body: memoryview) -> tuple[NDArray[Any], tuple[int, int]]:
    if type(entry) is not dict or entry.keys() != _FIELDS:
        raise SubmissionRejected(f"{where} has not exactly the fields {sorted(_FIELDS)}.")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    dtype = _DTYPES.get(code) if type(code) is str else None
    if dtype is None:
        raise SubmissionRejected(f"{where} has the dtype {code!r:.40}, of {', '.join(_DTYPES)}.")
    if not _naturals(shape) or len(shape) > 32 or math.prod(max(n, 1) for n in shape) > 2**40:
        raise SubmissionRejected(f"{where} has the shape {shape!r:.60}.")
    if not _naturals(offsets) or len(offsets) != 2:
        raise SubmissionRejected(f"{where} has the data_offsets {offsets!r:.60}.")
    begin, end = offsets
    if not begin <= end <= len(body) or end - begin != dtype.itemsize * math.prod(shape):
        raise SubmissionRejected(
            f"{where} claims bytes {begin} to {end} of {len(body)} for shape {shape!r:.60} of "
            f"{code}."
        )
    flat = np.frombuffer(body[begin:end], dtype)
    if code == "BOOL" and flat.size and flat.view(np.uint8).max() > 1:
        raise SubmissionRejected(f"{where} holds a byte that is no bool.")
    if code == "BF16":
        flat = (flat.astype("<u4") << 16).view("<f4")
    return flat.reshape(shape).astype(flat.dtype.newbyteorder("=")), (begin, end)


def _naturals(value: Any) -> bool:
    return type(value) is list and all(type(n) is int and 0 <= n < 2**48 for n in value)


def _check_cover(name: str, spans: list[tuple[int, int]], size: int) -> None:
    at = 0
    for begin, end in sorted(spans):
        if begin != at:
            raise SubmissionRejected(f"{name} has tensors that overlap, or a gap, at byte {begin}.")
        at = end
    if at != size:
        raise SubmissionRejected(f"{name} has {size - at:,} bytes that belong to no tensor.")
