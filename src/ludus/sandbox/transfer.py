"""Files in and out of a box that may still be running, and hostile.

Every step is taken from a descriptor of a folder to one name in it, without following links, so
there is no moment at which swapping a folder for a link leads anywhere else. What is opened is
looked at after it was opened. Nothing is run inside the box for a copy.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ludus.errors import SandboxError, SandboxViolation

__all__ = [
    "Entry",
    "chunks",
    "get",
    "locate",
    "put",
    "read_bytes",
    "walk",
    "write_bytes",
    "write_entry",
    "write_file",
]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a fifo must not wait for its other end.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 18
_LEVELS = 128
_ENTRIES = 200_000
_PLACES = ("/workspace", "/tmp", "/dev/shm")  # noqa: S108 - places inside a box


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing found in a box; ``file`` is open while the walk stands at it."""

    path: tuple[str, ...]
    mode: int
    file: int | None = None
    link: str | None = None

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.file is None and self.link is None


def locate(path: str, *, home: str = "/workspace") -> tuple[str, tuple[str, ...]]:
    """Return which writable place ``path`` lies in, and the names that lead to it from there.

    Raises:
        SandboxError: it lies in none, or has ``..`` or NUL in it.
    """
    pure = PurePosixPath(path)
    if ".." in pure.parts or "\0" in path:
        raise SandboxError(f"The path {path!r} has '..' or NUL in it; write it without.")
    if not pure.is_absolute():
        return "/workspace", pure.parts
    for place, prefix in (("/workspace", home), *((place, place) for place in _PLACES)):
        if pure.is_relative_to(prefix):
            return place, pure.relative_to(prefix).parts
    raise SandboxError(
        f"The path {path!r} cannot be reached from outside; use one in {', '.join(_PLACES)}."
    )


def read_bytes(root: int, parts: Sequence[str], limit: int) -> bytes:
    """Return a file's contents, at most ``limit`` bytes.

    Raises:
        SandboxViolation: it is larger, or no plain file.
        SandboxError: it is not there.
    """
    with _parent(root, parts) as (folder, name), _opened(folder, name, parts) as file:
        kept, size = [], 0
        for chunk in chunks(file):
            size += len(chunk)
            if size > limit:
                raise SandboxViolation(f"{_show(parts)} has more than {limit:,} bytes.")
            kept.append(chunk)
        return b"".join(kept)


def write_bytes(
    root: int, parts: Sequence[str], data: bytes, *, owner: int | None, mode: int = 0o644
) -> None:
    """Write a file in place of whatever has its name, making the folders on the way."""
    write_file(root, parts, iter((data,)), owner=owner, mode=mode)


def write_file(
    root: int, parts: Sequence[str], data: Iterator[bytes], *, owner: int | None, mode: int
) -> None:
    """Write a file from chunks, in place of whatever has its name."""
    with _parent(root, parts, create_for=owner) as (folder, name):
        _write(folder, name, data, mode, owner)


def put(source: Path, root: int, parts: tuple[str, ...], *, owner: int | None) -> None:
    """Copy a host file or folder to ``parts`` below ``root``."""
    try:
        top = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(f"Cannot put {str(source)!r}: {error.strerror}.") from None
    try:
        for entry in walk(top, (source.name,), limit=1 << 50):
            write_entry(root, (*parts, *entry.path), entry, owner=owner)
    finally:
        os.close(top)


def get(root: int, parts: tuple[str, ...], target: Path, *, limit: int) -> None:
    """Copy ``parts`` below ``root`` to a host path, whole or not at all."""
    if target.is_symlink() or target.is_dir():
        raise SandboxError(f"Cannot get to {str(target)!r}: it exists. Name a new path.")
    parent = target.parent.resolve()
    if not parent.is_dir():
        raise SandboxError(f"Cannot get to {str(target)!r}: its folder does not exist.")
    hidden = parent / f".{secrets.token_hex(8)}.part"
    hidden.mkdir(mode=0o700)
    folder = os.open(hidden, _FOLDER)
    try:
        for entry in walk(root, parts, limit=limit):
            write_entry(folder, ("it", *entry.path), entry, owner=None, confined=True)
        (hidden / "it").replace(target)
    except OSError as error:
        raise SandboxError(f"Cannot get {_show(parts)}: {error.strerror}.") from None
    finally:
        os.close(folder)
        shutil.rmtree(hidden, ignore_errors=True)


def walk(
    root: int, parts: Sequence[str], *, limit: int, skip: Collection[str] = ()
) -> Iterator[Entry]:
    """Yield what ``parts`` names and all below it, folders first, paths relative to it.

    Names to ``skip`` are those directly in ``root``, where that is walked as a whole.

    Raises:
        SandboxViolation: more bytes than ``limit``, too many entries or levels, or something
            that is neither file, folder nor link.
        SandboxError: it is not there.
    """
    if not parts:
        yield Entry((), 0o755)
        yield from _Walk(limit, skip).folder(os.open(".", _FOLDER, dir_fd=root), (), parts)
        return
    with _parent(root, parts) as (folder, name):
        yield from _Walk(limit).one(folder, name, (), parts)


class _Walk:
    """One walk and what it has met so far."""

    def __init__(self, limit: int, skip: Collection[str] = ()) -> None:
        self.limit, self.bytes, self.entries, self._skip = limit, 0, 0, skip

    def folder(self, folder: int, path: tuple[str, ...], top: Sequence[str]) -> Iterator[Entry]:
        try:
            if len(path) >= _LEVELS:
                raise SandboxViolation(f"{_show(top)} has more than {_LEVELS} levels of folders.")
            for name in self._names(folder, top):
                if not path and name in self._skip:
                    continue
                yield from self.one(folder, name, (*path, name), top)
        finally:
            os.close(folder)

    def one(
        self, folder: int, name: str, path: tuple[str, ...], top: Sequence[str]
    ) -> Iterator[Entry]:
        shown = (*top, *path)
        try:
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(kind):
                if not path:
                    raise SandboxViolation(f"{_show(shown)} is a link; name what it leads to.")
                yield Entry(path, 0o777, link=os.readlink(name, dir_fd=folder))
            elif stat.S_ISDIR(kind):
                below = os.open(name, _FOLDER, dir_fd=folder)
                yield Entry(path, stat.S_IMODE(os.fstat(below).st_mode) & 0o777)
                yield from self.folder(below, path, top)
            else:
                with _opened(folder, name, shown) as file:
                    found = os.fstat(file)
                    self.bytes += found.st_size
                    if self.bytes > self.limit:
                        raise SandboxViolation(
                            f"{_show(top)} holds more than {self.limit:,} bytes."
                        )
                    yield Entry(path, stat.S_IMODE(found.st_mode) & 0o777, file=file)
        except FileNotFoundError:
            # Gone since it was listed; only the thing asked for itself must be there.
            if not path:
                raise SandboxError(f"{_show(shown)} is not there.") from None
        except OSError as error:
            raise SandboxViolation(f"{_show(shown)} changed its kind: {error.strerror}.") from None

    def _names(self, folder: int, top: Sequence[str]) -> list[str]:
        names = []
        with os.scandir(folder) as listing:
            for item in listing:
                names.append(item.name)
                self.entries += 1
                if self.entries > _ENTRIES:
                    raise SandboxViolation(f"{_show(top)} has more than {_ENTRIES:,} entries.")
        return sorted(names)


def write_entry(
    root: int, path: tuple[str, ...], entry: Entry, *, owner: int | None, confined: bool = False
) -> None:
    """Write one entry of a walk below ``root``; ``confined`` refuses links that lead out."""
    if entry.is_folder:
        os.close(_folder(root, path, create_for=owner))
        return
    with _parent(root, path, create_for=owner) as (folder, name):
        if entry.link is None:
            if entry.file is None:
                raise SandboxError(f"{_show(path)} is neither file nor link.")
            _write(folder, name, chunks(entry.file), entry.mode, owner)
            return
        if confined and not _stays_inside(entry.path, entry.link):
            raise SandboxViolation(f"{_show(entry.path)} links to {entry.link!r}, out of the copy.")
        _remove_name(folder, name)
        os.symlink(entry.link, name, dir_fd=folder)
        if owner is not None:
            os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)


def _stays_inside(path: tuple[str, ...], link: str) -> bool:
    """Return whether a link leads only to real folders above it and names below them.

    ``..`` may only come first: after a name, that name could be a link itself.
    """
    words = PurePosixPath(link).parts
    ups = next((i for i, word in enumerate(words) if word != ".."), len(words))
    return bool(words) and words[0] != "/" and ".." not in words[ups:] and ups < len(path)


def _write(folder: int, name: str, data: Iterator[bytes], mode: int, owner: int | None) -> None:
    hidden = f".{secrets.token_hex(8)}.part"
    try:
        file = os.open(hidden, _NEW, 0o600, dir_fd=folder)
        try:
            for chunk in data:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(file, view) :]
            if owner is not None:
                os.fchown(file, owner, owner)
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


@contextmanager
def _parent(
    root: int, parts: Sequence[str], create_for: int | bool | None = False
) -> Iterator[tuple[int, str]]:
    if not parts:
        raise SandboxError("This needs the path of a file, not of the whole place.")
    folder = _folder(root, parts[:-1], create_for=create_for)
    try:
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _folder(root: int, parts: Sequence[str], *, create_for: int | bool | None) -> int:
    """Open a folder below ``root``; make what is missing unless ``create_for`` is ``False``."""
    here = os.open(".", _FOLDER, dir_fd=root)
    try:
        for name in parts:
            below = _step(here, name, create_for)
            os.close(here)
            here = below
    except OSError as error:
        os.close(here)
        shown = _show(parts)
        if isinstance(error, FileNotFoundError):
            raise SandboxError(f"The folder of {shown} is not there.") from None
        raise SandboxViolation(
            f"{name!r} on the way to {shown} is no folder but a link or file: {error.strerror}."
        ) from None
    return here


def _step(folder: int, name: str, create_for: int | bool | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if create_for is False:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=folder)
    made = os.open(name, _FOLDER, dir_fd=folder)
    if create_for is not None:
        os.fchown(made, int(create_for), int(create_for))
    return made


@contextmanager
def _opened(folder: int, name: str, shown: Sequence[str]) -> Iterator[int]:
    try:
        file = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise SandboxError(f"{_show(shown)} is not there.") from None
    except OSError as error:
        raise SandboxViolation(f"{_show(shown)} is no plain file: {error.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise SandboxViolation(f"{_show(shown)} is no plain file.")
        yield file
    finally:
        os.close(file)


def chunks(file: int) -> Iterator[bytes]:
    """Yield the contents of an open file."""
    # The size at the time of opening bounds the copy: a file that grows meanwhile is cut there.
    left = os.fstat(file).st_size
    while left > 0:
        chunk = os.read(file, min(_CHUNK, left))
        if not chunk:
            return
        left -= len(chunk)
        yield chunk


def _show(parts: Sequence[str]) -> str:
    """Return a path for messages: escape sequences in it reach no terminal."""
    return repr("/".join(parts))
