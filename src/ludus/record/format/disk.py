"""Open files: read at a place, appended to, flushed.

All files of a run folder are touched here and in :mod:`~ludus.record.format.folder` only, so that
tests can make every system call fail. The last three functions are for files outside of run
folders: keys, and what is copied into a run.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ludus.errors import RecordError

__all__ = [
    "AppendFile",
    "Handle",
    "create_files",
    "failure",
    "open_outside",
    "process_id",
    "read_small",
    "write_all",
]


_CHUNK = 2**20
_PARTS = 1000  # Linux takes 1024 pieces of memory in one call.
_ADVICE = {
    errno.ENOSPC: "Free some space and try again",
    errno.EDQUOT: "Free some of your quota and try again",
    errno.EROFS: "Choose a folder on a disk that can be written",
    errno.EACCES: "Choose a folder that you may write, or ask for the right to",
    errno.EPERM: "Choose a folder that you may write, or ask for the right to",
    errno.EIO: "Check the disk, then try again",
}


def failure(what: str, problem: OSError) -> RecordError:
    """Return the error for a system call that failed, with what to do about it."""
    reason = problem.strerror or str(problem)
    advice = _ADVICE.get(problem.errno or 0, "See to it and try again")
    return RecordError(
        f"{what} failed: {reason}. {advice}; everything reported as written before is intact."
    )


@contextlib.contextmanager
def reporting(what: str) -> Iterator[None]:
    """Raise system errors as :func:`failure` of what was being done."""
    try:
        yield
    except OSError as problem:
        raise failure(what, problem) from problem


def process_id() -> int:
    """Return the number of this process; a fork has another one."""
    return os.getpid()


class Handle:
    """An open file of a run folder, closed with its context."""

    __slots__ = ("name", "number")

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; again is allowed."""
        number, self.number = self.number, -1
        if number >= 0:
            os.close(number)

    @property
    def size(self) -> int:
        """Bytes in the file now."""
        return os.fstat(self.number).st_size

    def read(self, offset: int, length: int) -> memoryview:
        """Return ``length`` bytes from ``offset``, fewer where the file ends.

        A copy, not a mapping of the file: another process that has the file open can neither change
        what has been checked nor, by cutting it, kill this process.
        """
        view, done = np.empty(length, np.uint8).data, 0
        while done < length and (count := os.preadv(self.number, [view[done:]], offset + done)):
            done += count
        return view[:done]

    def chunks(self) -> Iterator[memoryview]:
        """Yield the whole content, piece by piece."""
        offset = 0
        while piece := self.read(offset, _CHUNK):
            yield piece
            offset += len(piece)

    def sha256(self) -> tuple[str, int]:
        """Return the hash and the number of the bytes."""
        checksum, size = hashlib.sha256(), 0
        for piece in self.chunks():
            checksum.update(piece)
            size += len(piece)
        return checksum.hexdigest(), size

    def lines(self, longest: int) -> Iterator[bytes]:
        """Yield the lines with their ends; the last may lack it, one too long is cut short."""
        with open(self.number, "rb", buffering=_CHUNK, closefd=False) as file:
            file.seek(0)
            while line := file.readline(longest + 1):
                yield line

    def flush(self) -> None:
        """Return when the content would survive a power cut."""
        os.fsync(self.number)

    def lock(self, *, shared: bool = False) -> bool:
        """Try to lock the file until it is closed; return whether that worked."""
        how = fcntl.LOCK_NB | (fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            fcntl.flock(self.number, how)
        except BlockingIOError:
            return False
        return True


class AppendFile(Handle):
    """A file that grows at an end which its owner keeps.

    The owner says where to write, and moves its end only when a write has returned. Bytes that a
    failed or interrupted write left beyond the end are cut off before the next one.
    """

    __slots__ = ("_doubtful", "_reach", "_synced")

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, name)
        self._reach = self.size  # Nothing lies beyond it.
        self._synced = 0  # Everything before it survives a power cut.
        self._doubtful = False

    def lock(self, *, shared: bool = False) -> bool:
        """Try to lock the file until it is closed; return whether that worked."""
        locked = super().lock(shared=shared)
        self._reach = self.size  # Another process may have written to it since it was opened.
        return locked

    def write(self, offset: int, parts: Sequence[Any]) -> int:
        """Write pieces of memory one after the other from ``offset``; return the new end.

        If that fails, the file is as it was, if possible.
        """
        end = offset + sum(memoryview(part).nbytes for part in parts)
        self.cut(offset)
        self._reach = end
        try:
            write_all(self.number, parts, offset)
        except OSError:
            with contextlib.suppress(OSError):
                self.cut(offset)
            raise
        return end

    def cut(self, end: int) -> None:
        """Remove whatever lies beyond ``end``."""
        if self._reach > end:
            os.ftruncate(self.number, end)
            self._reach = end
            self._synced = min(self._synced, end)

    def sync(self) -> None:
        """Return when everything written would survive a power cut; else raise ``OSError``."""
        end = self._reach
        if self._synced == end and not self._doubtful:
            return
        if self._doubtful:
            # The kernel has given up on these pages and takes them for written; write them anew.
            for offset in range(self._synced, end, _CHUNK):
                write_all(self.number, [self.read(offset, min(_CHUNK, end - offset))], offset)
        self._doubtful = True
        os.fsync(self.number)
        self._synced, self._doubtful = end, False


def write_all(number: int, parts: Sequence[Any], offset: int) -> None:
    """Write all pieces of memory from ``offset``, however many calls it takes."""
    left = [memoryview(part).cast("B") for part in parts if memoryview(part).nbytes]
    while left:
        count = os.pwritev(number, left[:_PARTS], offset)
        if not count:
            raise OSError(errno.EIO, "the system wrote nothing")
        offset += count
        done = 0
        while done < len(left) and count >= left[done].nbytes:
            count -= left[done].nbytes
            done += 1
        del left[:done]
        if count:
            left[0] = left[0][count:]


_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def open_outside(path: str | os.PathLike[str]) -> Handle:
    """Open a file for reading; raises ``OSError`` unless it is a regular one."""
    handle = Handle(os.open(path, _READ), os.fspath(path))
    if not stat.S_ISREG(os.fstat(handle.number).st_mode):
        handle.close()
        raise OSError(errno.EINVAL, f"{path} is no regular file")
    return handle


def read_small(path: Path, longest: int) -> tuple[bytes, int]:
    """Return content and mode of a regular file; raises ``OSError`` if it is too large."""
    with open_outside(path) as handle:
        content = bytes(handle.read(0, longest + 1))
        if len(content) > longest:
            raise OSError(errno.EFBIG, f"it has more than {longest} bytes")
        return content, os.fstat(handle.number).st_mode


def create_files(folder: Path, contents: Mapping[str, tuple[bytes, int]]) -> None:
    """Write new files, each with a mode, all or none; a missing folder is made private."""
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
    except BaseException:  # an interrupt too; raised again
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink()
        raise
