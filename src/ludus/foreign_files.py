"""Reads files that anyone may have put in their place: pipes, devices and endless files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["open_regular", "open_to_append", "read_regular", "read_text"]

# Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
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
        OSError: It cannot be opened, or is something else, such as a pipe or a device.
    """
    number = os.open(path, _READ | (0 if follow else _NO_LINK))
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "It is no regular file", os.fspath(path))
    except BaseException:
        os.close(number)
        raise
    return number


def open_to_append(path: str | os.PathLike[str]) -> int:
    """Open a regular file to add to, made if necessary, and return its descriptor.

    Raises:
        OSError: It cannot be opened, or is something else. A link is not followed, nor a file
            written that has a second name: in a folder of somebody's it may belong elsewhere.
    """
    number = os.open(path, _APPEND, 0o666)
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.EINVAL, "It is no regular file with one name", os.fspath(path))
    except BaseException:
        os.close(number)
        raise
    return number


def read_regular(path: str | os.PathLike[str], longest: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        longest: The most bytes that it may have.
        follow: Whether it may be a symbolic link.

    Raises:
        OSError: It cannot be read, is something else, or has more bytes.
    """
    number = open_regular(path, follow=follow)
    try:
        size, pieces, length = os.fstat(number).st_size, [], 0
        # The size is only a hint: the file may grow, and some systems' own files have none.
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
        UnicodeDecodeError: It is not UTF-8.
    """
    return read_regular(Path(path), longest).decode("utf-8-sig")
