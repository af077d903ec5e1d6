"""Tables in CSV: exactly the columns asked for, each id once and none missing."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import SubmissionRejected
from ludus.research.grading.formats.texts import read_text

__all__ = ["Column", "Table", "read_csv"]

_FIELD = 1 << 20
_INT = re.compile(r"[+-]?[0-9]{1,18}")
# float() takes much more: nan, inf, 1_0, digits of other scripts.
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
)
_BOOLS = {"0": False, "1": True, "False": False, "True": True, "false": False, "true": True}
_DTYPES: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_, str: object}


@dataclass(frozen=True, slots=True)
class Column:
    """The type of a column, and the values that are allowed.

    Raises:
        ValueError: ``kind`` is not ``int``, ``float``, ``bool`` or ``str``.
    """

    kind: type
    low: float = -math.inf
    high: float = math.inf
    choices: frozenset[Any] | None = None
    length: int = 10_000

    def __post_init__(self) -> None:
        if self.kind not in _DTYPES:
            raise ValueError(f"Column.kind is {self.kind!r}; expected int, float, bool or str.")

    def read(self, field: str) -> Any:
        """Parse a field.

        Raises:
            ValueError: it is invalid; the text says what was expected.
        """
        value = _READERS[self.kind](field)
        if self.kind in (int, float) and not self.low <= value <= self.high:
            raise ValueError(f"expected a number within {self.low} and {self.high}")
        if self.kind is str and len(value) > self.length:
            raise ValueError(f"expected at most {self.length} characters, got {len(value)}")
        if self.choices is not None and value not in self.choices:
            shown = ", ".join(sorted(map(str, self.choices))[:10])
            raise ValueError(f"expected one of {shown}")
        return value


@dataclass(frozen=True, slots=True)
class Table:
    """A table's columns by name, rows in the order of the ids that were asked for."""

    columns: Mapping[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def read_csv(
    name: str,
    data: bytes,
    columns: Mapping[str, type | Column],
    *,
    ids: Sequence[Any] | None = None,
    rows: int | None = None,
    max_rows: int = 5_000_000,
) -> Table:
    """Return a table.

    Args:
        name: of the file, for messages.
        data: its contents.
        columns: all columns, in their order, with their types. The first one holds the ids.
        ids: every row's id, once each; the rows are returned in this order. ``None``: the first
            column has no special meaning.
        rows: required number of rows, if ``ids`` is ``None``.
        max_rows: how many there may be.

    Raises:
        SubmissionRejected: the header differs, a row has too few or too many fields, an id is
            missing, unknown or duplicate, or a field is not of its column's type or not finite.
        ValueError: ``columns`` is empty, or ``ids`` has a duplicate.
    """
    wanted = {
        key: kind if isinstance(kind, Column) else Column(kind) for key, kind in columns.items()
    }
    if not wanted:
        raise ValueError("columns is empty; expected at least one.")
    expected = len(ids) if ids is not None else rows
    lines = _lines(name, read_text(name, data))
    _check_header(name, next(lines, (1, []))[1], list(wanted))
    values = _values(name, lines, wanted, max_rows if expected is None else expected)
    made = {
        key: np.array(found, _DTYPES[column.kind])
        for (key, column), found in zip(wanted.items(), values, strict=True)
    }
    if ids is not None:
        order = _order(name, next(iter(wanted)), values[0], ids)
        return Table({key: found[order] for key, found in made.items()})
    if expected is not None and len(values[0]) != expected:
        raise SubmissionRejected(f"{name} has {len(values[0]):,} rows, expected {expected:,}.")
    return Table(made)


def _values(
    name: str, lines: Iterator[tuple[int, list[str]]], columns: Mapping[str, Column], most: int
) -> list[list[Any]]:
    """Return the values of each column."""
    values: list[list[Any]] = [[] for _ in columns]
    readers = [
        (key, column.read, into.append)
        for (key, column), into in zip(columns.items(), values, strict=True)
    ]
    for line, fields in lines:
        if len(values[0]) == most:
            raise SubmissionRejected(f"{name} has more than {most:,} rows, at line {line}.")
        if len(fields) != len(readers):
            raise SubmissionRejected(
                f"{name}, line {line}: {len(fields)} fields, expected {len(readers)}."
            )
        for (key, read, keep), field in zip(readers, fields, strict=True):
            try:
                keep(read(field))
            except ValueError as problem:
                raise SubmissionRejected(
                    f"{name}, line {line}, column {key}: {field!r:.60}; {problem}."
                ) from None
    return values


def _lines(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    csv.field_size_limit(_FIELD)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as problem:
        raise SubmissionRejected(f"{name}, line {reader.line_num}: {problem}.") from None


def _check_header(name: str, found: list[str], wanted: list[str]) -> None:
    if found != wanted:
        raise SubmissionRejected(
            f"{name} has the columns {', '.join(found)!r:.200}, expected exactly "
            f"{', '.join(wanted)!r} in its first line."
        )


def _order(name: str, column: str, found: list[Any], ids: Sequence[Any]) -> NDArray[np.intp]:
    """Return where each of ``ids`` was found."""
    places: dict[Any, int] = {}
    for place, row_id in enumerate(found):
        if places.setdefault(row_id, place) != place:
            raise SubmissionRejected(f"{name} has the {column} {row_id!r:.60} more than once.")
    known = set(ids)
    if len(known) != len(ids):
        raise ValueError("ids has one of them more than once.")
    foreign = [row_id for row_id in places if row_id not in known]
    if foreign:
        raise SubmissionRejected(
            f"{name} has {len(foreign):,} values of {column} that do not exist, the first is "
            f"{foreign[0]!r:.60}."
        )
    if len(places) != len(known):
        raise SubmissionRejected(
            f"{name} lacks {len(known) - len(places):,} of the {len(known):,} rows that are needed."
        )
    return np.array([places[row_id] for row_id in ids], np.intp)


def _int(field: str) -> int:
    if not _INT.fullmatch(field):
        raise ValueError("expected an integer of at most 18 digits")
    return int(field)


def _float(field: str) -> float:
    if not _FLOAT.fullmatch(field) or not math.isfinite(number := float(field)):
        raise ValueError("expected a finite number")
    return number


def _bool(field: str) -> bool:
    if field not in _BOOLS:
        raise ValueError("expected 0, 1, True or False")
    return _BOOLS[field]


_READERS: dict[type, Callable[[str], Any]] = {int: _int, float: _float, bool: _bool, str: str}
