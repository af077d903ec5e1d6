"""A folder inside a sandbox's folder that the sandbox cannot enter.

The sandbox's user owns the folder around it and can rename its contents at any moment. What changes
owner is therefore made in here.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ludus.errors import SandboxViolation

__all__ = ["private_folder"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def private_folder(root: int) -> Iterator[int]:
    """Make a folder in ``root`` that only this user can enter; remove it at the end if it is empty.

    Raises:
        SandboxViolation: something else was put in its place.
        OSError: it cannot be made.
    """
    name = f".{secrets.token_hex(8)}.part"
    os.mkdir(name, 0o700, dir_fd=root)
    try:
        folder = os.open(name, _FOLDER, dir_fd=root)
    except OSError:
        raise SandboxViolation("A folder was replaced while it was made.") from None
    try:
        _refuse_others(folder)
        yield folder
    finally:
        os.close(folder)
        # The sandbox may have given it another name: then it stays, empty.
        with suppress(OSError):
            os.rmdir(name, dir_fd=root)


def _refuse_others(folder: int) -> None:
    """Refuse a folder that others may enter or that is not empty."""
    found = os.fstat(folder)
    closed = found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
    if not closed or os.listdir(folder):
        raise SandboxViolation("A folder was replaced while it was made.")
