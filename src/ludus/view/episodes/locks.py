"""Whether a file is locked by the process that writes it.

Taking the lock to find out could make the writer fail, so the system's table of locks is read.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from ludus.record.format.disk import Handle

__all__ = ["is_written"]

_TABLE = Path("/proc/locks")
_RECENT = 30.0
# The kernel gives out the table in pieces. Between two of them locks come and go, and the second
# may then lack some that are held all the time.
_PIECE, _READS = 3500, 5


def is_written(handle: Handle) -> bool:
    """Whether a process of this machine holds the lock of a file.

    Where there is no table of locks, a file that has changed in the last 30 seconds counts.
    """
    status = os.fstat(handle.number)
    held = _held(round(time.monotonic() * 4))
    if held is None:
        return time.time() - status.st_mtime < _RECENT
    device = (os.major(status.st_dev), os.minor(status.st_dev))
    # Layered file systems show another device in the table than in the status.
    return any(
        inode == status.st_ino and (where == device or not device[0]) for where, inode in held
    )


@lru_cache(maxsize=1)
def _held(_moment: int) -> frozenset[tuple[tuple[int, int], int]] | None:
    """Return device and inode of all locked files; read at most four times a second."""
    lines: set[str] = set()
    try:
        for _ in range(_READS):
            text = _TABLE.read_text(encoding="ascii")
            lines.update(text.splitlines())
            if len(text) < _PIECE:
                break
    except (OSError, UnicodeDecodeError):
        return None
    found = set()
    for line in lines:
        fields = line.split()
        if "->" in fields or "FLOCK" not in fields or len(fields) < 6:
            continue
        try:
            major, minor, inode = fields[5].split(":")
            found.add(((int(major, 16), int(minor, 16)), int(inode)))
        except ValueError:
            continue
    return frozenset(found)
