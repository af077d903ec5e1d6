"""Empties folders that a sandbox has filled, and may still be filling."""

from __future__ import annotations

import errno
import math
import os
import secrets
import stat
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox.transfer.placing import private_folder

__all__ = ["clear", "remove_tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE = 4.0
_AGAIN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


def clear(
    root: int,
    patience: float = _PATIENCE,
    *,
    keep: Collection[str] = (),
    owner: int | None = None,
) -> None:
    """Remove everything in the folder ``root``, however deep it is.

    Nested folders are first moved to the top, so that depth costs nothing. The contents of other
    users' folders are moved to where the sandbox cannot enter.

    Args:
        root: the folder.
        patience: seconds after which to give up, since a process may be refilling it.
        keep: names in it that stay.
        owner: the sandbox's user; by default that of the folder.

    Raises:
        SandboxError: it is refilled faster than it is emptied, or something cannot be removed.
    """
    with _Clearing(root, time.monotonic() + patience, owner) as clearing:
        clearing.empty(root, keep)
        clearing.finish()


def remove_tree(folder: str | Path) -> None:
    """Remove a folder and all in it; ignore one that is gone or cannot be removed."""
    with suppress(OSError, SandboxError):
        root = os.open(folder, _FOLDER)
        try:
            clear(root, math.inf)
        finally:
            os.close(root)
        Path(folder).rmdir()


class _Clearing:
    """One clearing, and where it puts what the sandbox must not see on the way."""

    def __init__(self, root: int, deadline: float, owner: int | None) -> None:
        self._root, self._deadline = root, deadline
        self._owner = os.fstat(root).st_uid if owner is None else owner
        self._private: int | None = None
        self._stack = ExitStack()

    def __enter__(self) -> _Clearing:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def empty(self, root: int, keep: Collection[str] = ()) -> None:
        """Remove all that is in a folder, round after round, until nothing is left."""
        while True:
            own = None if self._private is None else os.fstat(self._private).st_ino
            with os.scandir(root) as listing:
                others = (i.name for i in listing if i.name not in keep and i.inode() != own)
                names = list(islice(others, 1000))
            if not names:
                return
            for name in names:
                if time.monotonic() > self._deadline:
                    raise SandboxError(
                        "The folder fills up faster than it can be emptied; end what runs in the "
                        "sandbox."
                    )
                try:
                    self._remove(root, name)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    # These say that it was filled or swapped meanwhile: the next round sees to it.
                    if error.errno not in _AGAIN:
                        raise SandboxError(f"Cannot remove {name!r}: {error.strerror}.") from None

    def finish(self) -> None:
        """Remove what was put apart."""
        if self._private is not None and self._private != self._root:
            self.empty(self._private)

    def _remove(self, root: int, name: str) -> None:
        if not stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=root)
            return
        folder = os.open(name, _FOLDER, dir_fd=root)
        try:
            with os.scandir(folder) as listing:
                items = [(item.name, item.is_dir(follow_symlinks=False)) for item in listing]
            target = root
            if os.fstat(folder).st_uid != self._owner and any(deep for _, deep in items):
                target = self._apart()
            for below, is_folder in items:
                if is_folder:
                    hidden = f".{secrets.token_hex(8)}"
                    os.rename(below, hidden, src_dir_fd=folder, dst_dir_fd=target)
                else:
                    os.unlink(below, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=root)

    def _apart(self) -> int:
        """Return a folder that the sandbox cannot enter; without root it is as good as any."""
        if self._private is None:
            private = os.geteuid() == 0
            made = self._stack.enter_context(private_folder(self._root)) if private else self._root
            self._private = made
        return self._private
