"""Safe access to untrusted paths, which may be pipes, devices or endless files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["open_regular", "open_to_append", "read_regular", "read_text"]

# Without O_NONBLOCK, opening a pipe waits for a writer.
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | (_READ & ~os.O_RDONLY) | _NO_LINK
_CHUNK = 1 << 20


def open_regular(path: str | os.PathLike[str], *, follow: bool = True) -> int:
    """Open a regular file for reading and return its descriptor.

    Args:
        path: The file.
        follow: Whether it may be a symbolic link.

    Raises:
        OSError: The file cannot be opened, or is a pipe, a device or the like.
    """
    number = os.open(path, _READ | (0 if follow else _NO_LINK))
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file", os.fspath(path))
    except BaseException:
        os.close(number)
        raise
    return number


def open_to_append(path: str | os.PathLike[str]) -> int:
    """Open or create a regular file for appending and return its descriptor.

    Raises:
        OSError: The file cannot be opened, or is not a regular file. Symbolic links and files with
            several hard links are refused, as they may be outside of the folder.
    """
    number = os.open(path, _APPEND, 0o666)
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.EINVAL, "It is not a regular file with one name", os.fspath(path))
    except BaseException:
        os.close(number)
        raise
    return number


def read_regular(path: str | os.PathLike[str], longest: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        longest: Limit of its size in bytes.
        follow: Whether it may be a symbolic link.

    Raises:
        OSError: The file cannot be read, is not a regular file, or is too large.
    """
    number = open_regular(path, follow=follow)
    try:
        size, pieces, length = os.fstat(number).st_size, [], 0
        # The size is only a hint: the file may grow, and files in /proc have size 0.
        while size <= longest and (piece := os.read(number, min(_CHUNK, longest + 1 - length))):
            pieces.append(piece)
            length += len(piece)
            size = max(size, length)
    finally:
        os.close(number)
    if size > longest:
        raise OSError(
            errno.EFBIG,
            f"It has {size} bytes; at most {longest} are read",
            os.fspath(path),
        )
    return b"".join(pieces)


def read_text(path: str | os.PathLike[str], longest: int) -> str:
    """Return the text of a UTF-8 file, without a byte order mark; see :func:`read_regular`.

    Raises:
        UnicodeDecodeError: The file is not UTF-8.
    """
    return read_regular(Path(path), longest).decode("utf-8-sig")
