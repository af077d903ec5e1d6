"""Files of the caller's own, outside of run folders: keys, and what is copied into a run."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ludus.record.format.disk import Handle, write_all

__all__ = ["create_files", "open_outside", "read_small"]

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def open_outside(path: str | os.PathLike[str]) -> Handle:
    """Open a file of the caller's own for reading.

    Raises:
        OSError: It is no regular file, or cannot be opened.
    """
    handle = Handle(os.open(path, _READ), os.fspath(path))
    if not stat.S_ISREG(os.fstat(handle.number).st_mode):
        handle.close()
        raise OSError(errno.EINVAL, f"{path} is no regular file")
    return handle


def read_small(path: Path, longest: int) -> tuple[bytes, int]:
    """Return the content and the mode of a file of the caller's own.

    Raises:
        OSError: It is too large, no regular file, or cannot be read.
    """
    with open_outside(path) as handle:
        content = bytes(handle.read(0, longest + 1))
        if len(content) > longest:
            raise OSError(errno.EFBIG, f"it has more than {longest} bytes")
        return content, os.fstat(handle.number).st_mode


def create_files(folder: Path, contents: Mapping[str, tuple[bytes, int]]) -> None:
    """Write new files, each with a mode, all or none; a folder that is missing is made private.

    Raises:
        FileExistsError: One of them exists.
        OSError: One of them cannot be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made: list[Path] = []
    try:
        for name, (content, mode) in contents.items():
            path = folder / name
            number = os.open(path, _CREATE, mode)
            made.append(path)
            try:
                write_all(number, [content], 0)
                os.fsync(number)
            finally:
                os.close(number)
    except BaseException:
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink()
        raise
