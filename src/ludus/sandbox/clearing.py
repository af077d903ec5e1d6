"""Empties folders that a box has filled, and may still be filling."""

from __future__ import annotations

import errno
import math
import os
import secrets
import stat
import time
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ludus.errors import SandboxError

__all__ = ["clear", "remove_tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE = 4.0
_AGAIN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


def clear(root: int, patience: float = _PATIENCE, *, keep: Collection[str] = ()) -> None:
    """Remove everything in a folder, however deep it is.

    Folders in folders are first moved to the top, so that depth costs nothing.

    Args:
        root: the folder.
        patience: seconds after which to give up, since somebody may be filling it again.
        keep: names in it that stay.

    Raises:
        SandboxError: it fills up again faster than it is emptied, or something cannot be removed.
    """
    deadline = time.monotonic() + patience
    while True:
        with os.scandir(root) as listing:
            others = (item.name for item in listing if item.name not in keep)
            names = list(islice(others, 1000))
        if not names:
            return
        for name in names:
            if time.monotonic() > deadline:
                raise SandboxError(
                    "The folder fills up faster than it can be emptied; end what runs in the box."
                )
            try:
                _remove(root, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                # These say that it was filled or swapped meanwhile: the next round sees to it.
                if error.errno not in _AGAIN:
                    raise SandboxError(f"Cannot remove {name!r}: {error.strerror}.") from None


def remove_tree(folder: str | Path) -> None:
    """Remove a folder and all in it; one that is gone or not ours to remove is left."""
    with suppress(OSError, SandboxError):
        root = os.open(folder, _FOLDER)
        try:
            clear(root, math.inf)
        finally:
            os.close(root)
        Path(folder).rmdir()


def _remove(root: int, name: str) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=root)
        return
    folder = os.open(name, _FOLDER, dir_fd=root)
    try:
        with os.scandir(folder) as listing:
            items = [(item.name, item.is_dir(follow_symlinks=False)) for item in listing]
        for below, is_folder in items:
            if is_folder:
                hidden = f".{secrets.token_hex(8)}"
                os.rename(below, hidden, src_dir_fd=folder, dst_dir_fd=root)
            else:
                os.unlink(below, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=root)
