"""Blocks of ``blocks.bin``: rows of every column, after a table of the columns.

::

    "LUDB"  version u16  zero u16  length of the table u32       all little-endian
    table   canonical JSON, padded with zeros to a multiple of 64 bytes, header included
    columns each padded in the same way
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.record.format import canonical
from ludus.record.format.columns import DTYPES, ENCODINGS, Encoding, storable
from ludus.record.format.limits import MAX_BLOCK_BYTES, MAX_COLUMNS, MAX_TABLE_BYTES

__all__ = ["BLOCKS", "Block", "PackedBlock", "pack_block", "parse_block"]

BLOCKS = "blocks.bin"
_HEADER = Struct("<4sHHI")
_MAGIC, _VERSION = b"LUDB", 1
_ALIGN = 64
_AXES = 16
_NAME_BYTES = 200
_ALLOWED = {True: ("constant", "bits"), False: ("constant", "raw")}
_ENTRY = {"name", "dtype", "shape", "encoding", "offset"}


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A block about to be written."""

    rows: int
    length: int
    sha256: str
    parts: list[Any]
    """Pieces of memory that are its bytes, one after the other."""


def pack_block(columns: Mapping[str, NDArray[Any]]) -> PackedBlock:
    """Return columns, all with the same number of rows, as the bytes of a block.

    What is stored as it is, is not copied.

    Raises:
        RecordError: There are no columns, their rows differ, or they cannot be stored.
    """
    arrays = {name: _storable(name, column) for name, column in columns.items()}
    rows = _common_rows(arrays)
    _check_size(sum(_unpacked(array.dtype, array.shape) for array in arrays.values()))
    packed: list[NDArray[Any]] = []
    table: list[dict[str, Any]] = []
    offset = 0
    for name, array in arrays.items():
        encoding = next(key for key, item in ENCODINGS.items() if item.fits(array))
        data = ENCODINGS[encoding].pack(array)
        table.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": list(array.shape[1:]),
                "encoding": encoding,
                "offset": offset,
            }
        )
        packed.append(data)
        offset += _padded(data.nbytes)
    return _assemble(rows, table, packed)


def _assemble(rows: int, table: list[dict[str, Any]], packed: list[NDArray[Any]]) -> PackedBlock:
    text = canonical.dumps({"rows": rows, "columns": table})
    if len(text) > MAX_TABLE_BYTES:
        raise RecordError(f"The names of {len(table)} columns are too long; shorten them.")
    head = _HEADER.pack(_MAGIC, _VERSION, 0, len(text)) + text
    parts: list[Any] = [head.ljust(_padded(len(head)), b"\0")]
    length = len(parts[0])
    for data in packed:
        gap = _padded(data.nbytes) - data.nbytes
        parts.append(data.reshape(-1).view(np.uint8))
        if gap:
            parts.append(bytes(gap))
        length += data.nbytes + gap
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return PackedBlock(rows, length, checksum.hexdigest(), parts)


class Block(Mapping[str, NDArray[Any]]):
    """Some rows of a recording: arrays by column name, each decoded when asked for.

    The arrays must not be written to.
    """

    def __init__(self, rows: int, first_row: int, columns: dict[str, _Column]) -> None:
        self.rows = rows
        """How many."""
        self.first_row = first_row
        """Number of the first one within the run."""
        self._columns = columns

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self._columns[name]
        return column.encoding.unpack(column.data, column.dtype, self.rows, column.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True, slots=True)
class _Column:
    encoding: Encoding
    data: memoryview
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def parse_block(data: memoryview, event_data: Mapping[str, Any]) -> Block:
    """Return the block of an event ``block``, whose form was checked; the bytes are not trusted.

    Raises:
        RecordDamaged: They are no such block.
    """
    start = event_data["offset"]

    def damaged(reason: str, offset: int = 0) -> RecordDamaged:
        position = start + offset
        return RecordDamaged(f"{BLOCKS} byte {position}: {reason}.", file=BLOCKS, position=position)

    if len(data) < event_data["length"]:
        raise damaged(f"a block of {event_data['length']} bytes is cut off", len(data))
    if hashlib.sha256(data).hexdigest() != event_data["sha256"]:
        raise damaged("the block does not have the hash that its event states; it has been changed")
    if len(data) < _HEADER.size:
        raise damaged("a block is shorter than its header")
    magic, version, zero, length = _HEADER.unpack_from(data)
    if magic != _MAGIC or zero:
        raise damaged(f"a block begins with {magic!r} instead of {_MAGIC!r}")
    if version != _VERSION:
        raise damaged(f"a block has format {version}; this Ludus reads format {_VERSION}")
    payload = _padded(_HEADER.size + length)
    if length > MAX_TABLE_BYTES or payload > len(data):
        raise damaged(f"a table of {length} bytes is too long")
    try:
        table = canonical.loads(bytes(data[_HEADER.size : _HEADER.size + length]))
        rows, columns = _read_table(table, data.toreadonly()[payload:])
    except (CodecError, ValueError) as problem:
        raise damaged(f"the table of columns is wrong: {problem}", _HEADER.size) from None
    if rows != event_data["rows"]:
        raise damaged(f"the block has {rows} rows, its event says {event_data['rows']}")
    return Block(rows, event_data["first_row"], columns)


def _read_table(table: Any, payload: memoryview) -> tuple[int, dict[str, _Column]]:
    """Return rows and columns; raises ``ValueError`` with the reason if the table is wrong."""
    if not isinstance(table, dict) or table.keys() != {"rows", "columns"}:
        raise ValueError("it has other fields than rows and columns")
    rows, entries = table["rows"], table["columns"]
    if not _is_count(rows) or not rows:
        raise ValueError(f"{rows!r} is no number of rows")
    if not isinstance(entries, list) or not 0 < len(entries) <= MAX_COLUMNS:
        raise ValueError(f"there must be 1 to {MAX_COLUMNS} columns")
    columns: dict[str, _Column] = {}
    offset = unpacked = 0
    for entry in entries:
        name, column, size = _read_entry(entry, rows, payload, offset)
        if name in columns:
            raise ValueError(f"column {name!r} is there twice")
        columns[name] = column
        offset += _padded(column.data.nbytes)
        unpacked += size
        if unpacked > MAX_BLOCK_BYTES:
            raise ValueError(f"its columns have more than {MAX_BLOCK_BYTES} bytes")
    if offset != payload.nbytes:
        raise ValueError(f"{offset} bytes of columns are described, here are {payload.nbytes}")
    return rows, columns


def _read_entry(
    entry: Any, rows: int, payload: memoryview, offset: int
) -> tuple[str, _Column, int]:
    """Return the name, the column and its size as an array."""
    if not isinstance(entry, dict) or entry.keys() != _ENTRY:
        raise ValueError(f"a column has the fields {', '.join(sorted(_ENTRY))}")
    name, shape = entry["name"], entry["shape"]
    if not isinstance(name, str) or not 0 < len(name.encode()) <= _NAME_BYTES:
        raise ValueError("a column's name is empty, too long or no text")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
        raise ValueError(f"column {name!r} has an unknown dtype")
    if not isinstance(entry["encoding"], str) or entry["encoding"] not in ENCODINGS:
        raise ValueError(f"column {name!r} has an unknown encoding")
    if not isinstance(shape, list) or len(shape) > _AXES or not all(map(_is_count, shape)):
        raise ValueError(f"column {name!r} has no valid shape")
    dtype, encoding = DTYPES[entry["dtype"]], ENCODINGS[entry["encoding"]]
    size = _unpacked(dtype, (rows, *shape))
    if size > MAX_BLOCK_BYTES:
        raise ValueError(f"column {name!r} has {size} bytes; at most {MAX_BLOCK_BYTES} are allowed")
    if entry["encoding"] not in _ALLOWED[dtype == np.bool_]:
        raise ValueError(f"column {name!r} stores {dtype} as {entry['encoding']}")
    length = encoding.length(dtype, rows, math.prod(shape))
    if entry["offset"] != offset or offset + length > payload.nbytes:
        raise ValueError(f"column {name!r} lies where it cannot")
    data = payload[offset : offset + length]
    if encoding is ENCODINGS["constant"] and dtype == np.bool_ and max(data, default=0) > 1:
        raise ValueError(f"column {name!r} of bools holds a byte other than 0 and 1")
    return name, _Column(encoding, data, dtype, tuple(shape)), size


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40


def _storable(name: str, column: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(name, str) or not 0 < len(name.encode()) <= _NAME_BYTES:
        raise RecordError(f"A column's name is a text of 1 to {_NAME_BYTES} bytes; got {name!r}.")
    array = np.asarray(column)
    if not 0 < array.ndim <= _AXES + 1:
        raise RecordError(
            f"Column {name!r} has the shape {array.shape}; its first axis must be the rows, with "
            f"at most {_AXES} axes after it."
        )
    try:
        return storable(array)
    except ValueError as problem:
        raise RecordError(f"Column {name!r} {problem}.") from None


def _common_rows(arrays: Mapping[str, NDArray[Any]]) -> int:
    if not 0 < len(arrays) <= MAX_COLUMNS:
        raise RecordError(f"A block has 1 to {MAX_COLUMNS} columns; got {len(arrays)}.")
    rows = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.values())) != 1 or not (count := next(iter(rows.values()))):
        raise RecordError(f"The columns of a block have the same rows, at least one; got {rows}.")
    return count


def _check_size(size: int) -> None:
    if size > MAX_BLOCK_BYTES:
        raise RecordError(
            f"A block of {size} bytes is too large; at most {MAX_BLOCK_BYTES} are allowed. "
            "Append fewer rows at once."
        )


def _unpacked(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    # An axis of length 0 must not hide the others, which NumPy limits all the same.
    return dtype.itemsize * math.prod(max(axis, 1) for axis in shape)


def _padded(length: int) -> int:
    return -(-length // _ALIGN) * _ALIGN
