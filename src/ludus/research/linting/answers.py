"""Finds answers of a split in the files that the agent sees, by comparing columns.

An answer is any column of a label file but its identifiers. It is found in a workspace's file as a
run of values; in rows with the same identifiers, verbatim or renamed one to one; or if nearly all
of its many different values occur in one column. Whole numbers are also searched as bytes, in any
file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ludus.findings import Finding
from ludus.research.linting.reach import plain_files
from ludus.research.linting.rules import finding
from ludus.research.linting.tables import (
    DataTable,
    Unreadable,
    column_bytes,
    read_bytes,
    read_tables,
)

__all__ = ["find_answers"]

_FEWEST = 8
"""Rows from which on equal columns are no coincidence."""
_BYTES = 16
_MANY = 20
_JOINED, _AGREE, _CONTAINED = 0.9, 0.95, 0.99
_IDENTIFIER = re.compile(r"(?:.*[_ ])?(?:id|ids|key|index|idx|row)|.*Id", re.IGNORECASE)
_PACKED = frozenset({".parquet", ".h5", ".hdf5", ".zip", ".tar", ".xz", ".bz2", ".zst", ".pkl"})


@dataclass(frozen=True, slots=True)
class _Answer:
    """A column that must stay secret, and the identifiers of its rows."""

    name: str
    values: list[str]
    identifiers: tuple[list[str], ...]


def find_answers(
    workspace: Path, labels: dict[str, Path], answers: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Find the answers of splits in the files of a workspace.

    ``labels`` are the label folders by split; ``answers`` are columns, by default all but
    identifiers.
    """
    secrets: list[_Answer] = []
    names: set[str] = set()
    for split, folder in labels.items():
        for path in plain_files(folder):
            where = f"{split}/{path.relative_to(folder).as_posix()}"
            try:
                tables = read_tables(path, read_bytes(path))
            except Unreadable as problem:
                yield finding("unchecked", where, message=str(problem))
                continue
            if not tables:
                yield finding("unchecked", where, message="No columns are known of such labels.")
            names = names.union(*(table.columns for table in tables))
            secrets += [found for table in tables for found in _answers_in(where, table, answers)]
    for name in sorted(set(answers) - names):
        detail = f"'answers' lists {name!r}, but no label file has this column."
        yield finding("unchecked", "task.yaml", message=detail, advice="Correct the name.")
    if secrets:
        yield from _in_workspace(workspace, secrets)


def _in_workspace(workspace: Path, secrets: list[_Answer]) -> Iterator[Finding]:
    for path in plain_files(workspace):
        shown = Path("workspace") / path.relative_to(workspace)
        if path.suffix in _PACKED:
            yield finding("unchecked", shown, message=f"A {path.suffix} file is not unpacked.")
        try:
            data = read_bytes(path)
            tables = read_tables(path, data)
        except Unreadable as problem:
            yield finding("unchecked", shown, message=str(problem))
            continue
        yield from _in_file(shown, data, tables, secrets)


def _answers_in(where: str, table: DataTable, wanted: tuple[str, ...]) -> Iterator[_Answer]:
    names = list(table.columns)
    secret = [name for name in names if name in wanted] or [
        name for name in names if not _identifies(name, names, table.columns[name])
    ]
    known = tuple(table.columns[name] for name in names if name not in secret)
    for name in secret:
        values = table.columns[name]
        if len(values) >= _FEWEST and len(set(values)) > 1:
            yield _Answer(f"column {name!r} of {where}", values, known)


def _identifies(name: str, names: list[str], values: list[str]) -> bool:
    if len(names) == 1 or len(set(values)) < len(values):
        return False
    return name == names[0] or _IDENTIFIER.fullmatch(name) is not None


def _in_file(
    shown: Path, data: bytes, tables: list[DataTable], secrets: list[_Answer]
) -> Iterator[Finding]:
    for answer in secrets:
        found = next((hit for table in tables for hit in _in_table(table, answer)), None)
        if found is not None:
            line, how = found
            yield finding("answers", shown, line, f"{how}: the answers are {answer.name}.")
        elif not tables and _in_bytes(data, answer):
            yield finding("answers", shown, message=f"Its bytes contain {answer.name}.")


def _in_bytes(data: bytes, answer: _Answer) -> bool:
    # A run of equal or counting values is everywhere.
    if len(answer.values) < _BYTES or len(set(answer.values)) == len(answer.values):
        return False
    return any(len(set(held)) > 1 and held in data for held in column_bytes(answer.values))


def _in_table(table: DataTable, answer: _Answer) -> Iterator[tuple[int, str]]:
    for name, values in table.columns.items():
        start = _run(values, answer.values)
        if start is not None:
            yield table.line(start), f"Column {name!r} holds all of them in order"
    for rows in _joins(table, answer):
        for name, values in table.columns.items():
            if _tells([values[row] for row, _ in rows], [given for _, given in rows]):
                yield table.line(rows[0][0]), f"Column {name!r} tells them, row by row"
    many = set(answer.values)
    if len(many) >= max(_MANY, len(answer.values) / 2):
        for name, values in table.columns.items():
            if len(many & set(values)) >= _CONTAINED * len(many):
                yield table.line(0), f"Column {name!r} holds all of them in some order"


def _run(values: list[str], wanted: list[str]) -> int | None:
    """Return the position of ``wanted`` in ``values``, if it occurs."""
    if len(values) < len(wanted):
        return None
    text, part = ("\0" + "\0".join(column) + "\0" for column in (values, wanted))
    place = text.find(part)
    return None if place < 0 else text.count("\0", 0, place)


def _joins(table: DataTable, answer: _Answer) -> Iterator[list[tuple[int, str]]]:
    """Yield rows of the table with the answers of the same identifiers."""
    for identifiers in answer.identifiers:
        answers = dict(zip(identifiers, answer.values, strict=True))
        for values in table.columns.values():
            if len(set(values)) < len(values):
                continue
            rows = [(row, answers[value]) for row, value in enumerate(values) if value in answers]
            if len(rows) >= max(_FEWEST, _JOINED * len(answers)):
                yield rows


def _tells(values: list[str], answers: list[str]) -> bool:
    """Whether a column is the answers, or renames them one to one."""
    pairs = Counter(zip(values, answers, strict=True))
    different = set(answers)
    if len(set(values)) == len(different) <= len(answers) / 4:
        best: dict[str, str] = {}
        for (value, answer), _ in pairs.most_common():
            best.setdefault(value, answer)
        if len(set(best.values())) < len(different):
            return False
        right = [best[value] == answer for value, answer in zip(values, answers, strict=True)]
    else:
        right = [value == answer for value, answer in zip(values, answers, strict=True)]
    # Where nearly all answers are the same, agreeing on those says nothing.
    usual = Counter(answers).most_common(1)[0][0]
    rare = [hit for hit, answer in zip(right, answers, strict=True) if answer != usual]
    return sum(right) >= _AGREE * len(right) and sum(rare) >= _AGREE * len(rare)
