"""Files that are replaced whole or not at all, and leave nothing behind when a process is killed.

A new content is written to a draft beside the file, which then takes the file's place. The writer
holds a lock on its draft. A draft that nobody holds belongs to a process that is gone; whoever
writes the same file next removes it.
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
_SLOTS = 4  # writers of one file at the same time whose drafts are found again
_NAME = 100  # bytes of the file's name in the draft's, which must not be longer than 255


def write_whole(
    path: str | os.PathLike[str], content: bytes, *, durable: bool = True, mode: int = 0o666
) -> None:
    """Write a file; see :func:`replacing`.

    Raises:
        OSError: It cannot be written; what was there before still is.
    """
    with replacing(path, durable=durable, mode=mode) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], *, durable: bool = True, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """Give a file to write to that takes the place of ``path`` when the block ends well.

    Args:
        path: Where; an existing file is replaced, and stays if the block raises.
        durable: Whether the file must survive a power cut when this returns.
        mode: Of the new file, before the umask.

    Raises:
        OSError: It cannot be written.
    """
    target = Path(path)
    draft, number = _open_draft(target, mode)
    # Closing it gives up the lock. Until then nobody else uses the draft's name.
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
    """Return a new locked draft, after removing those of writers that are gone."""
    stem = os.fsencode(target.name)[:_NAME].decode("utf-8", "ignore")
    drafts = [target.with_name(f".{stem}.{slot}.draft") for slot in range(_SLOTS)]
    for draft in drafts:
        _remove_abandoned(draft)
    for draft in (*drafts, target.with_name(f".{stem}.{secrets.token_hex(8)}.draft")):
        try:
            number = os.open(draft, _CREATE, mode)
        except FileExistsError:
            continue
        # Without the lock somebody takes it for abandoned, and is about to remove it.
        if _lock(number) is not False and os.fstat(number).st_nlink > 0:
            return draft, number
        os.close(number)
    raise OSError(errno.EBUSY, "Too many processes write this file at once", os.fspath(target))


def _lock(number: int) -> bool | None:
    """Lock a file until it is closed; return whether nobody else has, ``None`` without locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None  # The file system has none.
    return True


def _remove_abandoned(draft: Path) -> None:
    """Remove a draft that no process holds; one that cannot be removed is left alone."""
    with contextlib.suppress(OSError):
        number = _looked_at(draft)
        if number is None:
            return
        try:
            # The writer may have finished meanwhile: then the name is gone, or another's.
            if _lock(number) and os.path.samestat(os.fstat(number), os.lstat(draft)):
                draft.unlink()
        finally:
            os.close(number)


def _looked_at(draft: Path) -> int | None:
    """Open a draft in order to lock it; what no writer has made, such as a link, is removed."""
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
    # Without this the new name may be gone after a power cut. Not every file system can do it.
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(number)
        finally:
            os.close(number)
