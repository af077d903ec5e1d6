"""Atomic replacement of files, without leftovers of killed processes.

The new content is written to a temporary file beside the target (a draft), which then replaces it.
The writer locks its draft. A draft without a lock belongs to a process that has ended; the next
writer of the same file removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

__all__ = ["replacing", "write_whole"]

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
_LOOK = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _FLAGS
_SLOTS = 4  # concurrent writers of one file whose drafts can be cleaned up
_NAME = 100  # bytes of the target's name in the draft's name, which may have 255


def write_whole(
    path: str | os.PathLike[str], content: bytes, *, durable: bool = True, mode: int = 0o666
) -> None:
    """Write a file atomically; see :func:`replacing`.

    Raises:
        OSError: The file cannot be written; an existing file is unchanged.
    """
    with replacing(path, durable=durable, mode=mode) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], *, durable: bool = True, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """Context manager that yields a file, which replaces ``path`` if the block succeeds.

    Args:
        path: The target; it is unchanged if the block raises.
        durable: Whether to flush the file to disk, so that it survives a power failure.
        mode: Permissions of the new file, before the umask.

    Raises:
        OSError: The file cannot be written.
    """
    target = Path(path)
    draft, number = _open_draft(target, mode)
    # Closing the file releases the lock. Until then no other process uses the draft's name.
    with os.fdopen(number, "wb") as file:
        try:
            yield file
            file.flush()
            if durable:
                os.fsync(number)
            draft.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
    if durable:
        _flush_folder(target.parent)


def _open_draft(target: Path, mode: int) -> tuple[Path, int]:
    """Return a new locked draft, after removing those of ended writers."""
    stem = os.fsencode(target.name)[:_NAME].decode("utf-8", "ignore")
    drafts = [target.with_name(f".{stem}.{slot}.draft") for slot in range(_SLOTS)]
    for draft in drafts:
        _remove_abandoned(draft)
    for draft in (*drafts, target.with_name(f".{stem}.{secrets.token_hex(8)}.draft")):
        try:
            number = os.open(draft, _CREATE, mode)
        except FileExistsError:
            continue
        # Without the lock, another writer took it for abandoned and removes it.
        if _lock(number) is not False and os.fstat(number).st_nlink > 0:
            return draft, number
        os.close(number)
    raise OSError(errno.EBUSY, "Too many processes write this file at once", os.fspath(target))


def _lock(number: int) -> bool | None:
    """Lock a file until it is closed; return whether that succeeded, ``None`` without locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None  # the file system does not support locks
    return True


def _remove_abandoned(draft: Path) -> None:
    """Remove a draft that no process has locked, if possible."""
    with contextlib.suppress(OSError):
        number = _looked_at(draft)
        if number is None:
            return
        try:
            # The writer may have finished meanwhile, and another may use the name.
            if _lock(number) and os.path.samestat(os.fstat(number), os.lstat(draft)):
                draft.unlink()
        finally:
            os.close(number)


def _looked_at(draft: Path) -> int | None:
    """Open a draft in order to lock it; remove it if it is not a regular file."""
    try:
        number = os.open(draft, _LOOK)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO):
            draft.unlink()
        return None
    if stat.S_ISREG(os.fstat(number).st_mode):
        return number
    os.close(number)
    draft.unlink()
    return None


def _flush_folder(folder: Path) -> None:
    # Flushes the new name to disk, too. Not every file system supports it.
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(number)
        finally:
            os.close(number)
