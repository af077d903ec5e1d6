"""The statements in the folder of a bench run: ``RUN/verifications/<key>-<number>.json``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ludus.bench.statement import LONGEST, Statement
from ludus.errors import BenchError, RecordError
from ludus.record.folder import Folder
from ludus.record.keys import PublicKey

__all__ = ["read_statements", "write_statements"]

_FOLDER = "verifications"
_NAME = re.compile(r"([0-9a-f]{16})-\d{1,4}\.json")
_MOST_BYTES = 64 << 20


def read_statements(run: Path, keys: Iterable[PublicKey]) -> list[Statement]:
    """Return the statements in a run's folder that say to be of one of the keys.

    Nothing in them is believed yet. Whoever handed the folder over may have put anything there:
    what is no statement is passed over, as it says nothing.
    """
    starts = {_start(key) for key in keys}
    found: list[Statement] = []
    left = _MOST_BYTES
    if (run / _FOLDER).is_symlink() or not (run / _FOLDER).is_dir():
        return found
    with suppress(RecordError), Folder(run / _FOLDER) as folder:
        for name in folder.names():
            named = _NAME.fullmatch(name)
            if named is None or named[1] not in starts or left <= 0:
                continue
            with suppress(BenchError, RecordError):
                content = folder.read(name, LONGEST) or b""
                left -= len(content)
                found.append(Statement.from_bytes(content))
    return found


def write_statements(run: Path, key: PublicKey, statements: Sequence[Statement]) -> None:
    """Put a key's statements into a run's folder, in place of those it has made before.

    Raises:
        BenchError: They cannot be written.
    """
    kept = {f"{_start(key)}-{number}.json": one for number, one in enumerate(statements)}
    try:
        with Folder(run) as folder:
            for name, statement in kept.items():
                # Below the open folder, so that no symbolic link leads elsewhere.
                folder.replace(f"{_FOLDER}/{name}", iter([statement.to_bytes()]))
            for path in (run / _FOLDER).iterdir():
                named = _NAME.fullmatch(path.name)
                if named is not None and named[1] == _start(key) and path.name not in kept:
                    folder.remove(f"{_FOLDER}/{path.name}")
    except (OSError, RecordError) as problem:
        raise BenchError(f"No statement can be kept in {run / _FOLDER}: {problem}") from problem


def _start(key: PublicKey) -> str:
    return key.hex[:16]
