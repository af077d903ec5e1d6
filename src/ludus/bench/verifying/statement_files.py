"""Statements in the folder of a bench run: ``RUN/verifications/<key>-<digest>.json``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ludus.bench.verifying.statement import LONGEST, Statement
from ludus.errors import BenchError, RecordError
from ludus.record.format.folder import Folder
from ludus.record.format.keys import PublicKey

__all__ = ["read_statements", "write_statement"]

_FOLDER = "verifications"
_NAME = re.compile(r"([0-9a-f]{16})-[0-9a-f]{16}\.json")
_MOST_BYTES = 64 << 20


def read_statements(run: Path, keys: Iterable[PublicKey]) -> list[Statement]:
    """Return the statements in a run's folder that claim to be of one of the keys.

    They are not checked yet. The folder may come from anyone: files that are no statement are
    ignored.
    """
    return [statement for _, statement in _read(run, {_start(key) for key in keys})]


def write_statement(run: Path, statement: Statement) -> None:
    """Put a statement into a run's folder.

    Earlier statements of the same key are removed if this one covers all their results.

    Raises:
        BenchError: It cannot be written.
    """
    start, content = _start(statement.key), statement.to_bytes()
    own = f"{start}-{hashlib.sha256(content).hexdigest()[:16]}.json"
    try:
        with Folder(run) as folder:
            # Below the open folder, so that no symbolic link leads elsewhere.
            folder.replace(f"{_FOLDER}/{own}", iter([content]))
            for name in (run / _FOLDER).iterdir():
                if name.name.startswith(start) and name.name != own:
                    _drop(folder, f"{_FOLDER}/{name.name}", statement)
    except (OSError, RecordError) as problem:
        raise BenchError(f"No statement can be kept in {run / _FOLDER}: {problem}") from problem


def _read(run: Path, starts: Collection[str]) -> Iterator[tuple[str, Statement]]:
    """Yield file names and statements, until more was read than an honest folder holds."""
    left = _MOST_BYTES
    if (run / _FOLDER).is_symlink() or not (run / _FOLDER).is_dir():
        return
    with suppress(RecordError), Folder(run / _FOLDER) as folder:
        for name in folder.names():
            named = _NAME.fullmatch(name)
            if named is None or named[1] not in starts or left <= 0:
                continue
            with suppress(BenchError, RecordError):
                content = folder.read(name, LONGEST) or b""
                left -= len(content)
                yield name, Statement.from_bytes(content)


def _drop(folder: Folder, name: str, newer: Statement) -> None:
    """Remove a file named after the statement's key unless it says something more.

    A file that is no genuine statement was put there by someone else.
    """
    try:
        other = Statement.from_bytes(folder.read(name, LONGEST) or b"")
        if other.key == newer.key and other.is_genuine() and not other.is_covered_by(newer):
            return
    except (BenchError, RecordError):
        pass
    with suppress(OSError):
        folder.remove(name)


def _start(key: PublicKey) -> str:
    return key.hex[:16]
