"""A run folder held open; its files are opened below it, never through a symbolic link.

A folder from elsewhere therefore cannot point at anything outside of itself.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ludus.errors import RecordDamaged, RecordError, RecordLocked
from ludus.record.format.disk import AppendFile, Handle, failure, reporting, write_all

__all__ = ["DRAFT", "Folder", "lock"]

DRAFT = ".draft"
"""What the name of a file ends in until it is whole."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_NOT_PLAIN = {errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ENOTDIR, errno.EISDIR}


class Folder:
    """An open run folder.

    Files are opened with :class:`RecordDamaged` if they are no regular files or lie behind a
    symbolic link, and with :class:`RecordError` if the system refuses.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, within: str | os.PathLike[str] | None = None
    ) -> None:
        """Open an existing folder.

        Below ``within``, a folder above it, no symbolic link is followed; by default links are,
        because the path is the caller's own.

        Raises:
            RecordError: There is none, or it may not be read.
            ValueError: The path is not within that folder.
        """
        self.path = Path(path)
        try:
            if within is None:
                self._number = os.open(self.path, _FOLDER)
            else:
                self._number = _open_below(Path(within), self.path.relative_to(within).parts)
        except OSError as problem:
            if within is not None and problem.errno in _NOT_PLAIN:
                raise RecordDamaged(
                    f"{self.path} is no folder inside {within}; symbolic links are not followed."
                ) from None
            reason = problem.strerror or problem
            raise RecordError(f"There is no run folder at {self.path}: {reason}.") from None

    @classmethod
    def make(cls, path: str | os.PathLike[str]) -> Folder:
        """Open a folder, made if necessary."""
        path = Path(path)
        with reporting(f"Making the run folder {path}"):
            path.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError, RecordError), cls(path.absolute().parent) as parent:
            parent.sync()
        return cls(path)

    def close(self) -> None:
        """Close it; again is allowed."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """Return what lies in the folder itself, sorted."""
        return sorted(os.listdir(self._number))  # noqa: PTH208, by its handle

    def open(self, name: str) -> Handle | None:
        """Open a file, named with slashes, for reading; return ``None`` if it does not exist."""
        try:
            return Handle(self._open(name, _READ), name)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._refused(name, problem) from None

    def open_append(self, name: str) -> AppendFile:
        """Open a file to append to, made if necessary."""
        try:
            file = AppendFile(self._open(name, _WRITE), name)
        except OSError as problem:
            raise self._refused(name, problem) from problem
        if os.fstat(file.number).st_nlink > 1:
            file.close()
            raise RecordDamaged(
                f"{name} in {self.path} has a second name elsewhere (a hard link); what belongs to "
                "it there might be overwritten. Copy the folder and use the copy.",
                file=name,
            )
        return file

    def read(self, name: str, longest: int) -> bytes | None:
        """Return the content of a file of at most ``longest`` bytes, ``None`` if there is none."""
        handle = self.open(name)
        if handle is None:
            return None
        with handle:
            content = bytes(handle.read(0, min(handle.size, longest) + 1))
        if len(content) > longest:
            raise RecordDamaged(
                f"{name} has more than {longest} bytes.", file=name, position=longest
            )
        return content

    def replace(self, name: str, pieces: Iterator[Any]) -> tuple[str, int]:
        """Write a file whole or not at all; return the SHA-256 and the number of its bytes."""
        return self.replace_all({name: pieces}, flush=True)[name]

    def replace_all(
        self, contents: Mapping[str, Iterator[Any]], *, flush: bool
    ) -> dict[str, tuple[str, int]]:
        """Write files, each whole or not at all; return SHA-256 and number of bytes of each.

        With ``flush``, return when all of them would survive a power cut.
        """
        made: dict[str, tuple[str, int]] = {}
        with contextlib.ExitStack() as opened:
            folders: dict[str, int] = {}
            drafts: list[tuple[int, int, str]] = []
            try:
                for name, pieces in contents.items():
                    above, _, last = name.rpartition("/")
                    if above not in folders:
                        folders[above] = self._descend(name, make=True)[0]
                        opened.callback(os.close, folders[above])
                    number = _open_draft(folders[above], last)
                    opened.callback(os.close, number)
                    drafts.append((number, folders[above], last))
                    made[name] = _write(number, pieces)
                for number, folder, last in drafts:
                    if flush:
                        os.fsync(number)
                    os.replace(last + DRAFT, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:  # an interrupt too; raised again
                for _, folder, last in drafts:
                    with contextlib.suppress(OSError):
                        os.unlink(last + DRAFT, dir_fd=folder)
                raise
            for above, folder in folders.items() if flush else ():
                _sync_folder(folder)
                if above:
                    _sync_folder(self._number)
        return made

    def flush(self, names: Iterable[str]) -> None:
        """Return when files, and their names, would survive a power cut; what is gone is left out.

        The disk begins to write all of them before the first is waited for.
        """
        with contextlib.ExitStack() as opened:
            handles = [
                opened.enter_context(handle)
                for name in names
                if (handle := self.open(name)) is not None
            ]
            for handle in handles if hasattr(os, "posix_fadvise") else ():
                os.posix_fadvise(handle.number, 0, 0, os.POSIX_FADV_DONTNEED)
            for handle in handles:
                handle.flush()
            for above in {handle.name.rpartition("/")[0] for handle in handles}:
                folder = self._descend(f"{above}/." if above else ".")[0]
                opened.callback(os.close, folder)
                _sync_folder(folder)
            _sync_folder(self._number)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._number)

    def sync(self) -> None:
        """Make the names of new files survive a power cut, where the file system can."""
        _sync_folder(self._number)

    def _open(self, name: str, flags: int) -> int:
        folder, last = self._descend(name)
        try:
            number = os.open(last, flags, 0o666, dir_fd=folder)
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise OSError(errno.ENXIO, "no regular file")
        return number

    def _descend(self, name: str, *, make: bool = False) -> tuple[int, str]:
        """Return a handle of the folder that a file lies in, and the file's own name."""
        *parents, last = name.split("/")
        folder = os.dup(self._number)
        for parent in parents:
            outer = folder
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(parent, dir_fd=outer)
                folder = os.open(parent, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
            finally:
                os.close(outer)
        return folder, last

    def _refused(self, name: str, problem: OSError) -> RecordError:
        if problem.errno in _NOT_PLAIN:
            return RecordDamaged(
                f"{name} is not a regular file inside {self.path}; symbolic links, pipes and "
                "devices are not followed.",
                file=name,
            )
        return failure(f"Opening {self.path / name}", problem)


def _open_draft(folder: int, name: str) -> int:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name + DRAFT, dir_fd=folder)
    return os.open(name + DRAFT, _WRITE | os.O_EXCL, 0o666, dir_fd=folder)


def _write(number: int, pieces: Iterator[Any]) -> tuple[str, int]:
    checksum, end = hashlib.sha256(), 0
    for piece in pieces:
        write_all(number, [piece], end)
        checksum.update(piece)
        end += len(piece)
    return checksum.hexdigest(), end


def lock(handle: Handle, path: Path) -> None:
    """Lock a run for writing.

    Raises:
        RecordLocked: Another process, or another object in this one, holds the lock.
        RecordError: The file system has no locks.
    """
    with reporting(f"Locking the run at {path}"):
        locked = handle.lock()
    if not locked:
        raise RecordLocked(
            f"The run at {path} is being written by another process or object. Close it there, or "
            "record into another folder."
        )


def _open_below(root: Path, names: Sequence[str]) -> int:
    number = os.open(root, _FOLDER)
    for name in names:
        outer = number
        try:
            number = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
    return number


def _sync_folder(number: int) -> None:
    # Some file systems cannot; the file itself is safe.
    try:
        os.fsync(number)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
