"""Reads the columns of data files of several formats into one comparable form."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DataTable", "Unreadable", "column_bytes", "read_bytes", "read_tables"]

LARGEST = 256 << 20
"""Bytes of a file, unpacked, that are searched."""
_WIDEST = 64
_LONGEST = 2_000_000


class Unreadable(Exception):
    """A file cannot be searched; the message says why."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """Columns of equal length, in a file.

    Values are texts: numbers in one spelling, others without blanks around. ``first_line`` is
    the line of the first row, 0 if rows have no lines.
    """

    name: str
    columns: dict[str, list[str]]
    first_line: int = 0

    def line(self, row: int) -> int:
        """Return the line of a row, 0 if there is none."""
        return self.first_line + row if self.first_line else 0


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, unpacked if it is packed with gzip.

    Raises:
        Unreadable: It is too large or damaged.
    """
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = unpacked.read(LARGEST + 1)
        except (OSError, EOFError, zlib.error) as problem:
            raise Unreadable(f"It is no whole gzip file: {problem}.") from problem
    if len(data) > LARGEST:
        raise Unreadable(f"It has more than {LARGEST >> 20} MiB.")
    return data


def read_tables(path: Path, data: bytes) -> list[DataTable]:
    """Return the tables in a file's bytes; none if it has no format with columns.

    Raises:
        Unreadable: It has such a format, but is not well-formed.
    """
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    reader = _READERS.get(suffixes[-1].lower() if suffixes else "")
    if reader is None:
        return []
    try:
        return [table for table in reader(path.name, data) if table.columns]
    except (ValueError, KeyError, OSError, EOFError, csv.Error, RecursionError) as problem:
        raise Unreadable(f"It is no well-formed {suffixes[-1]} file: {problem}.") from problem
    except (zipfile.BadZipFile, zlib.error) as problem:
        raise Unreadable(f"It is no whole {suffixes[-1]} file: {problem}.") from problem


def column_bytes(values: list[str]) -> Iterator[bytes]:
    """Yield a column of whole numbers as arrays of the usual types would hold it."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return
    if not np.all(numbers == np.trunc(numbers)) or np.abs(numbers).max(initial=0) >= 2**31:
        return
    for kind in ("u1", "<i2", "<i4", "<i8", "<f4", "<f8", ">i4"):
        held = numbers.astype(kind) if kind != "u1" or numbers.min(initial=0) >= 0 else None
        if held is not None and np.array_equal(held.astype(float), numbers):
            yield held.tobytes()


def _plain(value: Any) -> str:
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.10g}" if math.isfinite(number) else text


def _separated(delimiter: str) -> Callable[[str, bytes], Iterator[DataTable]]:
    def read(name: str, data: bytes) -> Iterator[DataTable]:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter=delimiter))
        if not rows:
            return
        width = len(rows[0])
        body = [row for row in rows[1:] if len(row) == width]
        names = [header.strip() or str(index) for index, header in enumerate(rows[0])]
        yield DataTable(name, {n: [_plain(row[i]) for row in body] for i, n in enumerate(names)}, 2)

    return read


def _text(name: str, data: bytes) -> Iterator[DataTable]:
    lines = data.decode("utf-8", "replace").splitlines()
    yield DataTable(name, {"lines": [_plain(line) for line in lines]}, 1)


def _json(name: str, data: bytes) -> Iterator[DataTable]:
    yield from _json_tables(name, json.loads(data))


def _json_lines(name: str, data: bytes) -> Iterator[DataTable]:
    rows = [json.loads(line) for line in data.decode().splitlines() if line.strip()]
    for table in _json_tables(name, rows):
        yield DataTable(name, table.columns, 1)


def _json_tables(name: str, value: Any) -> Iterator[DataTable]:
    if isinstance(value, dict):
        simple = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        if simple:
            yield DataTable(
                name, {"key": [_plain(k) for k in simple], "value": [*map(_plain, simple.values())]}
            )
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _json_tables(f"{name}:{key}", item)
    elif isinstance(value, list) and value:
        if all(isinstance(item, dict) for item in value):
            keys = dict.fromkeys(key for item in value for key in item)
            yield DataTable(name, {k: [_plain(item.get(k, "")) for item in value] for k in keys})
        elif not any(isinstance(item, dict | list) for item in value):
            yield DataTable(name, {"items": [_plain(item) for item in value]})
        elif all(isinstance(item, list) for item in value):
            width = min(map(len, value))
            columns = {str(i): [_plain(item[i]) for item in value] for i in range(width)}
            yield DataTable(name, columns)


def _array(name: str, data: bytes) -> Iterator[DataTable]:
    yield from _array_tables(name, np.load(io.BytesIO(data), allow_pickle=False))


def _arrays(name: str, data: bytes) -> Iterator[DataTable]:
    with np.load(io.BytesIO(data), allow_pickle=False) as members:
        for member in members.files:
            yield from _array_tables(f"{name}:{member}", members[member])


def _array_tables(name: str, array: Any) -> Iterator[DataTable]:
    if array.ndim == 2 and array.shape[1] > _WIDEST:
        # Pictures and the like; what was added to them stands at an end.
        array = array[:, [0, 1, -2, -1]]
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.size > _LONGEST:
        return
    yield DataTable(
        name, {str(i): [*map(_plain, array[:, i].tolist())] for i in range(array.shape[1])}
    )


_READERS: dict[str, Callable[[str, bytes], Iterator[DataTable]]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".txt": _text,
    ".json": _json,
    ".jsonl": _json_lines,
    ".npy": _array,
    ".npz": _arrays,
}
