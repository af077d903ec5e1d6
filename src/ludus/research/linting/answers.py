"""Finds answers of a split in the files that the agent sees, by comparing columns.

An answer is any column of a label file but its identifiers. It is found in a workspace's file as a
run of values; in rows with the same identifiers, verbatim or renamed one to one; or if nearly all
of its many different values occur in one column. Its values may be reversed or encoded as base64,
hex or rot13, its order reversed; in the same order they may also be renamed, or numbers scaled and
shifted. Numbers are also searched as bytes, in any file. Packed files are unpacked first.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ludus.findings import Finding
from ludus.research.linting import disguises
from ludus.research.linting.reach import plain_files
from ludus.research.linting.rules import finding
from ludus.research.linting.tables import DataTable, Unreadable, read_bytes, read_tables, spelled
from ludus.research.linting.unpacking import Content, unpacked

__all__ = ["find_answers"]

_FEWEST = 8
"""Rows from which on equal columns are no coincidence."""
_BYTES = 16
_MANY = 20
_SURE = 40.0
"""Bits of an order that no other column has by coincidence."""
_PROBE = 16
_JOINED, _AGREE, _CONTAINED = 0.9, 0.95, 0.99
_IDENTIFIER = re.compile(r"(?:.*[_ ])?(?:id|ids|key|index|idx|row)|.*Id", re.IGNORECASE)
_CLOSED = frozenset({".7z", ".arrow", ".feather", ".h5", ".hdf5", ".pkl", ".rar", ".zst"})
"""Endings of files that may hold tables and are not read."""


@dataclass(frozen=True)
class _Column:
    """A column of a workspace's file."""

    name: str
    values: list[str]

    @cached_property
    def different(self) -> frozenset[str]:
        return frozenset(self.values)

    @cached_property
    def joined(self) -> str:
        return "\0" + "\0".join(self.values) + "\0"

    @cached_property
    def numbers(self) -> disguises.Numbers | None:
        return disguises.numbers(self.values)


@dataclass(frozen=True)
class _Answer:
    """A column that must stay secret, and the identifiers of its rows.

    ``encodings`` are its values in other forms, by their names.
    """

    name: str
    values: list[str]
    identifiers: tuple[list[str], ...]
    encodings: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> disguises.Numbers | None:
        return disguises.numbers(self.values)

    @cached_property
    def is_telling(self) -> bool:
        return disguises.bits(self.values) >= _SURE

    @cached_property
    def held(self) -> tuple[bytes, ...]:
        # A run of equal or counting values is everywhere.
        few = len(set(self.values)) == len(self.values) and not self.is_scalable
        if len(self.values) < _BYTES or few:
            return ()
        return tuple(held for held in disguises.column_bytes(self.values) if len(set(held)) > 1)

    @cached_property
    def is_scalable(self) -> bool:
        return (
            self.is_telling and self.numbers is not None and not disguises.counts_up(self.numbers)
        )


def find_answers(
    workspace: Path, labels: dict[str, Path], answers: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Find the answers of splits in the files of a workspace.

    ``labels`` are the label folders by split; ``answers`` are columns, by default all but
    identifiers.
    """
    secrets: list[_Answer] = []
    copies: dict[bytes, str] = {}
    names: set[str] = set()
    for split, folder in labels.items():
        for path in plain_files(folder):
            where = f"{split}/{path.relative_to(folder).as_posix()}"
            try:
                contents = list(unpacked(path.name, read_bytes(path)))
                tables = [pair for content in contents for pair in _label_tables(content)]
            except Unreadable as problem:
                yield finding("unchecked", where, message=str(problem))
                continue
            copies |= {_digest(one.data): where for one in contents if len(one.data) >= _BYTES}
            if not tables:
                yield finding("unchecked", where, message="No columns are known of such labels.")
            names = names.union(*(table.columns for table, _ in tables))
            for table, raw in tables:
                secrets += _answers_in(where, table, raw, answers)
    for name in sorted(set(answers) - names):
        detail = f"'answers' lists {name!r}, but no label file has this column."
        yield finding("unchecked", "task.yaml", message=detail, advice="Correct the name.")
    if secrets or copies:
        yield from _in_workspace(workspace, secrets, copies)


def _label_tables(content: Content) -> list[tuple[DataTable, DataTable]]:
    """Return the tables of a label file, with those of the values as they are written."""
    if content.problem:
        raise Unreadable(content.problem)
    pairs = zip(
        read_tables(content.name, content.data),
        read_tables(content.name, content.data, lambda value: str(value).strip()),
        strict=True,
    )
    return [pair for pair in pairs if not pair[0].is_loose]


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _in_workspace(
    workspace: Path, secrets: list[_Answer], copies: dict[bytes, str]
) -> Iterator[Finding]:
    for path in plain_files(workspace):
        shown = Path("workspace") / path.relative_to(workspace)
        if path.suffix.lower() in _CLOSED:
            yield finding("unchecked", shown, message=f"A {path.suffix} file is not unpacked.")
        try:
            for content in unpacked(path.name, read_bytes(path)):
                yield from _in_content(shown, content, secrets, copies)
        except Unreadable as problem:
            yield finding("unchecked", shown, message=str(problem))


def _in_content(
    shown: Path, content: Content, secrets: list[_Answer], copies: dict[bytes, str]
) -> Iterator[Finding]:
    if content.problem:
        raise Unreadable(content.problem)
    where = f" ({content.name}, {' in '.join(reversed(content.how))})" if content.how else ""
    if where and (copied := copies.get(_digest(content.data))):
        detail = f"It is a packed copy of {copied}{where}."
        yield finding("answers", shown, message=detail)
        return
    tables = read_tables(content.name, content.data)
    columns = [
        (table, [_Column(name, values) for name, values in table.columns.items()])
        for table in tables
    ]
    for answer in secrets:
        hits = (hit for table, inside in columns for hit in _in_table(table, inside, answer))
        if found := next(hits, None):
            line, how = found
            detail = f"{how}{where}: the answers are {answer.name}."
            yield finding("answers", shown, 0 if where else line, detail)
        elif all(table.is_loose for table in tables) and _in_bytes(content.data, answer):
            yield finding("answers", shown, message=f"Its bytes contain {answer.name}{where}.")


def _answers_in(
    where: str, table: DataTable, raw: DataTable, wanted: tuple[str, ...]
) -> Iterator[_Answer]:
    names = list(table.columns)
    secret = [name for name in names if name in wanted] or [
        name for name in names if not _identifies(name, names, table.columns[name])
    ]
    known = tuple(table.columns[name] for name in names if name not in secret)
    for name in secret:
        values = table.columns[name]
        if len(values) >= _FEWEST and len(set(values)) > 1:
            made = disguises.encoded(raw.columns[name])
            encodings = {how: [*map(spelled, others)] for how, others in made}
            yield _Answer(f"column {name!r} of {where}", values, known, encodings)


def _identifies(name: str, names: list[str], values: list[str]) -> bool:
    if len(names) == 1 or len(set(values)) < len(values):
        return False
    return name == names[0] or _IDENTIFIER.fullmatch(name) is not None


def _in_bytes(data: bytes, answer: _Answer) -> bool:
    if any(held in data for held in answer.held):
        return True
    if not answer.is_scalable or answer.numbers is None:
        return False
    arrays = disguises.raw_arrays(data, len(answer.values))
    return any(disguises.is_scaled(array, answer.numbers) for array in arrays)


def _in_table(
    table: DataTable, columns: list[_Column], answer: _Answer
) -> Iterator[tuple[int, str]]:
    if table.is_loose and not answer.is_telling:
        return
    yield from _verbatim(table, columns, answer, answer.values, "")
    for how, values in answer.encodings.items():
        # Most columns hold none of the encoded values; that is quick to tell.
        probe = set(values[:_PROBE])
        some = [column for column in columns if not column.different.isdisjoint(probe)]
        yield from _verbatim(table, some, answer, values, f", {how}")
    if answer.is_telling:
        yield from _changed(table, columns, answer)


def _verbatim(
    table: DataTable, columns: list[_Column], answer: _Answer, wanted: list[str], how: str
) -> Iterator[tuple[int, str]]:
    """Find values of an answer, or encoded ones."""
    for column in columns:
        for values, order in ((wanted, "in order"), (wanted[::-1], "in reversed order")):
            if (start := _run(column, values)) is not None:
                yield table.line(start), f"Column {column.name!r} holds all of them {order}{how}"
    if table.is_loose or not columns:
        return
    for rows in _joins(table, answer, wanted):
        for column in columns:
            if _tells([column.values[row] for row, _ in rows], [given for _, given in rows]):
                yield table.line(rows[0][0]), f"Column {column.name!r} tells them, row by row{how}"
    many = set(wanted)
    if len(many) >= max(_MANY, len(wanted) / 2):
        for column in columns:
            if len(many & column.different) >= _CONTAINED * len(many):
                yield table.line(0), f"Column {column.name!r} holds all of them in some order{how}"


def _changed(
    table: DataTable, columns: list[_Column], answer: _Answer
) -> Iterator[tuple[int, str]]:
    """Find an answer in the same order, renamed or scaled, as a column or as one of its ends."""
    count = len(answer.values)
    for column in columns:
        last = len(column.values) - count
        for start in sorted({0, last}) if last >= 0 else ():
            part = slice(start, start + count)
            if disguises.renames(column.values[part], answer.values):
                yield table.line(start), f"Column {column.name!r} holds all of them, renamed"
            if answer.numbers is None or column.numbers is None:
                continue
            if answer.is_scalable and disguises.is_scaled(column.numbers[part], answer.numbers):
                yield table.line(start), f"Column {column.name!r} holds all of them, as a * y + b"


def _run(column: _Column, wanted: list[str]) -> int | None:
    """Return the position of ``wanted`` in a column, if it occurs."""
    if len(column.values) < len(wanted) or wanted[0] not in column.different:
        return None
    place = column.joined.find("\0" + "\0".join(wanted) + "\0")
    return None if place < 0 else column.joined.count("\0", 0, place)


def _joins(table: DataTable, answer: _Answer, wanted: list[str]) -> Iterator[list[tuple[int, str]]]:
    """Yield rows of the table with the answers of the same identifiers."""
    for identifiers in answer.identifiers:
        answers = dict(zip(identifiers, wanted, strict=True))
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
