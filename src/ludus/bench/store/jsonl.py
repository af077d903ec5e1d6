"""Results and verification statements as lines of JSON in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

from ludus.atomic import replacing
from ludus.bench.result import Result, read_json
from ludus.bench.store.rows import LARGEST_EXTRA, prepare
from ludus.bench.verifying.statement import Statement
from ludus.errors import BenchError, StoreError
from ludus.foreign_files import open_regular

__all__ = ["LONGEST_LINE", "read_file", "write_file"]

LONGEST_LINE = 2 * LARGEST_EXTRA  # more than a result can take that a store holds
_to_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_file(path: Path, results: Iterable[Result], statements: Iterable[Statement] = ()) -> int:
    """Write a file, replacing another one once it is complete; return the number of results.

    Statements about other runs than those of the results are left out.

    Raises:
        StoreError: If the file cannot be written.
    """
    count = 0
    try:
        with replacing(path) as file:
            runs = set()
            for result in results:
                file.write(_to_text(result.to_dict()).encode() + b"\n")
                runs.add(result.run)
                count += 1
            for statement in statements:
                if statement.run in runs:
                    file.write(statement.to_bytes())
    except OSError as problem:
        raise StoreError(f"{path} cannot be written: {problem}") from problem
    return count


def read_file(path: Path) -> Iterator[Result | Statement]:
    """Iterate over the results and statements in a file; empty lines are passed over.

    Raises:
        StoreError: If the file cannot be read or a line holds neither a result that a store takes
            nor a statement; the message gives its number.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            for number, line in _lines(file, path):
                yield _item(line, f"{path}, line {number}")
    except OSError as problem:
        raise StoreError(f"{path} cannot be read: {problem}") from problem


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise StoreError(f"{path}, line {number}: it is longer than {LONGEST_LINE} bytes.")
        if line.strip():
            yield number, line


def _item(line: bytes, where: str) -> Result | Statement:
    try:
        data = read_json(line.strip().decode(), parse_constant=_refuse)
        if isinstance(data, dict) and "findings" in data:
            return Statement.from_dict(data)
        result = Result.from_dict(data)
        prepare(result)
    except json.JSONDecodeError as problem:
        told = f"this is no JSON, at character {problem.pos + 1}: {problem.msg}"
        raise StoreError(f"{where}: {told}.") from problem
    except RecursionError:
        raise StoreError(f"{where}: it is nested too deep.") from None
    except (ValueError, TypeError, BenchError) as problem:
        raise StoreError(f"{where}: {problem}") from problem
    return result


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
