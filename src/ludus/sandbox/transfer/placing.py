"""Makes files, links and folders in a sandbox's folder, with their owner.

The owner of the folder can swap its contents at any moment. So a file changes owner only by the
descriptor that made it, or in a private folder inside, which the sandbox cannot enter.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ludus.errors import SandboxError, SandboxViolation

__all__ = ["Owner", "place_file", "place_folder", "place_link", "private_folder"]


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


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Owner = int | tuple[int, int] | None
"""Of what is written: a user, who is its own group; a user and a group; ``None``, the caller."""


def place_folder(folder: int, name: str, mode: int, owner: int | tuple[int, int]) -> int:
    """Make a folder that has its owner and its mode from the first moment, and open it."""
    with private_folder(folder) as apart:
        os.mkdir("it", 0o700, dir_fd=apart)
        made = os.open("it", _FOLDER, dir_fd=apart)
        try:
            os.fchown(made, *_ids(owner))
            os.fchmod(made, mode)
            _move(apart, folder, name)
        except BaseException:
            os.close(made)
            raise
        return made


def place_link(folder: int, name: str, target: str, owner: Owner) -> None:
    """Make a link, replacing what has its name unless that is a folder."""
    _remove_name(folder, name)
    try:
        if owner is None:
            os.symlink(target, name, dir_fd=folder)
            return
        # A link has no descriptor: its owner is changed where nobody can put a file in its place.
        with private_folder(folder) as apart:
            os.symlink(target, "it", dir_fd=apart)
            os.chown("it", *_ids(owner), dir_fd=apart, follow_symlinks=False)
            _move(apart, folder, name)
    except OSError as error:
        raise SandboxError(f"Cannot write {name!r}: {error.strerror}.") from None


def _move(apart: int, folder: int, name: str) -> None:
    try:
        os.rename("it", name, src_dir_fd=apart, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink("it", dir_fd=apart)
        with suppress(OSError):
            os.rmdir("it", dir_fd=apart)
        raise


def _ids(owner: int | tuple[int, int]) -> tuple[int, int]:
    return owner if isinstance(owner, tuple) else (owner, owner)


def place_file(folder: int, name: str, data: Iterator[bytes], mode: int, owner: Owner) -> None:
    """Write a file, replacing what has its name unless that is a folder."""
    hidden = f".{secrets.token_hex(8)}.part"
    try:
        file = os.open(hidden, _NEW, 0o600, dir_fd=folder)
        try:
            for chunk in data:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(file, view) :]
            if owner is not None:
                os.fchown(file, *_ids(owner))
            os.fchmod(file, (mode & 0o755) | 0o600)
        finally:
            os.close(file)
        # A rename replaces a link, fifo or file of that name and never goes through it.
        os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with suppress(OSError):
            os.unlink(hidden, dir_fd=folder)
        raise SandboxError(f"Cannot write {name!r}: {error.strerror}.") from None


def _remove_name(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SandboxError(f"Cannot replace {name!r}: {error.strerror}.") from None
