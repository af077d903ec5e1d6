"""Reads the columns of data files of several formats into one comparable form."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.optional import require

__all__ = ["DataTable", "Unreadable", "read_bytes", "read_tables", "spelled"]

LARGEST = 256 << 20
"""Bytes of a file that is searched."""
_WIDEST = 64
_ENDS = (0, 1, -2, -1)
_FEW = 8
_LONGEST = 2_000_000
_CELLS = 5_000_000
"""Cells of a text; each is an object while it is searched."""
_BATCH = 65_536
_NPY, _PARQUET = b"\x93NUMPY", b"PAR1"
_TOKENS = 4 << 20
_TOKEN = re.compile(r"[^\s,;:|\"'()\[\]{}<>]+")
_SEPARATORS = ",\t;|"


class Unreadable(Exception):
    """A file cannot be searched; the message says why."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """Columns of equal length, in a file.

    Values are texts, see :func:`spelled`. ``first_line`` is the line of the first row, 0 if rows
    have no lines. ``is_loose`` tables are of a text without columns, where much occurs by chance.
    """

    name: str
    columns: dict[str, list[str]]
    first_line: int = 0
    is_loose: bool = False

    def line(self, row: int) -> int:
        """Return the line of a row, 0 if there is none."""
        return self.first_line + row if self.first_line else 0


Spell = Callable[[Any], str]


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        Unreadable: It is too large.
    """
    # To read as many bytes as are allowed would reserve memory for them.
    size = path.stat().st_size
    with path.open("rb") as stream:
        data = stream.read(min(size, LARGEST) + 1)
    if max(size, len(data)) > LARGEST:
        raise Unreadable(f"It has more than {LARGEST >> 20} MiB.")
    return data


def spelled(value: Any) -> str:
    """Return a value as text: numbers in one spelling, others without blanks around."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.10g}" if math.isfinite(number) else text


def read_tables(name: str, data: bytes, spell: Spell = spelled) -> list[DataTable]:
    """Return the tables in a file's bytes; none if it has no format with columns.

    A file without a known ending is read as what its first bytes look like.

    Args:
        name: The file's name.
        data: Its bytes.
        spell: Makes the texts of a table of values.

    Raises:
        Unreadable: Its ending is that of such a format, but it is not well-formed, or too large.
    """
    suffix = PurePosixPath(name).suffix.lower()
    reader = _READERS.get(suffix)
    try:
        made = (reader or _of_any)(name, data, spell)
        return [table for table in made if table.columns]
    except Unreadable:
        raise
    # Whatever a parser raises for bytes that anybody may have written.
    except Exception as problem:
        if reader is None:
            return []
        raise Unreadable(f"It is no well-formed {suffix} file: {problem}.") from problem


def _check_cells(data: bytes) -> None:
    if sum(map(data.count, (b"\n", b",", b"\t", b"[", b"{"))) > _CELLS:
        raise Unreadable(f"It has more than {_CELLS:,} values.")


def _of_any(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
    """Read a file by its first bytes."""
    if data.startswith(_NPY):
        yield from _array(name, data, spell)
    elif data.startswith(_PARQUET):
        yield from _parquet(name, data, spell)
    elif data and b"\0" not in data[:4096]:
        text = data.decode("utf-8-sig")
        _check_cells(data)
        if text.lstrip()[:1] in ("[", "{"):
            try:
                yield from _json(name, data, spell)
            except ValueError:
                yield from _json_lines(name, data, spell)
            return
        first = text.partition("\n")[0]
        delimiter = max(_SEPARATORS, key=first.count)
        if delimiter in first:
            yield from _separated(delimiter)(name, data, spell)
        yield from _text(name, data, spell)
        if len(data) <= _TOKENS:
            words = [spell(word) for word in _TOKEN.findall(text)]
            yield DataTable(name, {"words": words}, is_loose=True)


def _separated(delimiter: str) -> Callable[[str, bytes, Spell], Iterator[DataTable]]:
    def read(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
        _check_cells(data)
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter=delimiter))
        if not rows:
            return
        width = len(rows[0])
        body = [row for row in rows[1:] if len(row) == width]
        names = [header.strip() or str(index) for index, header in enumerate(rows[0])]
        yield DataTable(name, {n: [spell(row[i]) for row in body] for i, n in enumerate(names)}, 2)
        if any(map(_is_number, rows[0])):  # it has no header
            columns = {str(i): [spell(row[i]) for row in (rows[0], *body)] for i in range(width)}
            yield DataTable(name, columns, 1)

    return read


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
    _check_cells(data)
    lines = data.decode("utf-8", "replace").splitlines()
    yield DataTable(name, {"lines": [spell(line) for line in lines]}, 1)


def _json(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
    _check_cells(data)
    yield from _json_tables(name, json.loads(data), spell)


def _json_lines(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
    _check_cells(data)
    rows = [json.loads(line) for line in data.decode().splitlines() if line.strip()]
    for table in _json_tables(name, rows, spell):
        yield DataTable(name, table.columns, 1)


def _json_tables(name: str, value: Any, spell: Spell) -> Iterator[DataTable]:
    if isinstance(value, dict):
        simple = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        if simple:
            columns = {"key": [*map(spell, simple)], "value": [*map(spell, simple.values())]}
            yield DataTable(name, columns)
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _json_tables(f"{name}:{key}", item, spell)
    elif isinstance(value, list) and value:
        if all(isinstance(item, dict) for item in value):
            keys = dict.fromkeys(key for item in value for key in item)
            yield DataTable(name, {k: [spell(item.get(k, "")) for item in value] for k in keys})
        elif not any(isinstance(item, dict | list) for item in value):
            yield DataTable(name, {"items": [spell(item) for item in value]})
        elif all(isinstance(item, list) for item in value):
            width = min(map(len, value))
            columns = {str(i): [spell(item[i]) for item in value] for i in range(width)}
            yield DataTable(name, columns)


def _array(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
    array = _narrow(np.load(io.BytesIO(data), allow_pickle=False))
    if array.ndim == 2 and array.size <= _LONGEST:
        width = array.shape[1]
        yield DataTable(name, {str(i): [*map(spell, array[:, i].tolist())] for i in range(width)})


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as columns, of which only the ends if there are many."""
    if array.ndim > 2:
        return _narrow(_flat(array.squeeze())) if array.size else array
    if array.ndim == 1:
        return array[:, None]
    if array.ndim == 2 and array.shape[0] < _FEW <= array.shape[1]:
        return _narrow(array.T)  # a few long rows
    # Pictures and the like; what was added to them stands at an end.
    return array[:, _ENDS] if array.ndim == 2 and array.shape[1] > _WIDEST else array


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    return array.reshape(len(array), -1) if array.ndim > 2 else array


def _parquet(name: str, data: bytes, spell: Spell) -> Iterator[DataTable]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Searching it for answers")
    types = require("pyarrow.types", extra="parquet")
    with parquet.ParquetFile(io.BytesIO(data)) as file:
        plain = [
            field.name
            for field in file.schema_arrow
            if not (types.is_nested(field.type) or types.is_binary(field.type))
        ]
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        if size > LARGEST or file.metadata.num_rows * len(plain) > _CELLS:
            raise Unreadable(f"It has more than {LARGEST >> 20} MiB or {_CELLS:,} values.")
        columns: dict[str, list[str]] = {field: [] for field in plain}
        for batch in file.iter_batches(batch_size=_BATCH, columns=plain):
            for field in plain:
                columns[field] += map(spell, batch.column(field).to_pylist())
    yield DataTable(name, columns)


_READERS: dict[str, Callable[[str, bytes, Spell], Iterator[DataTable]]] = {
    ".csv": _separated(","),
    ".json": _json,
    ".jsonl": _json_lines,
    ".npy": _array,
    ".parquet": _parquet,
    ".tsv": _separated("\t"),
    ".txt": _text,
}
