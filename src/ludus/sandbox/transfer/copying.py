"""Copies files into and out of a sandbox that may be running hostile code.

Every step goes from a descriptor of a folder to one name in it, without following links, so that
swapping a folder for a link never leads elsewhere. Files are checked after they were opened.
Nothing is run inside the sandbox for a copy.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ludus.errors import SandboxError, SandboxViolation
from ludus.sandbox.transfer.limits import SnapshotLimits, TransferTally
from ludus.sandbox.transfer.placing import Owner, place_file, place_folder, place_link

__all__ = [
    "Entry",
    "Owner",
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
_CHUNK = 1 << 18
_ANY = 1 << 50
_PLACES = ("/workspace", "/tmp", "/dev/shm")  # noqa: S108 - places inside a sandbox


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, folder or link in a sandbox; ``file`` is open while the walk is at it.

    ``size`` is what was counted of the file: a copy must not read more of it.
    """

    path: tuple[str, ...]
    mode: int
    file: int | None = None
    link: str | None = None
    size: int = 0
    owner: tuple[int, int] | None = None

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.file is None and self.link is None


def locate(path: str, *, home: str = "/workspace") -> tuple[str, tuple[str, ...]]:
    """Return the writable place that holds ``path``, and the names that lead to it from there.

    Raises:
        SandboxError: no place holds it, or it has ``..`` or NUL in it.
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
        SandboxViolation: it is larger, or not a plain file.
        SandboxError: it does not exist.
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
    root: int, parts: Sequence[str], data: bytes, *, owner: Owner, mode: int = 0o644
) -> None:
    """Write a file, replacing what has its name and creating its parents."""
    write_file(root, parts, iter((data,)), owner=owner, mode=mode)


def write_file(
    root: int, parts: Sequence[str], data: Iterator[bytes], *, owner: Owner, mode: int
) -> None:
    """Write a file from chunks, replacing what has its name."""
    with _parent(root, parts, create_for=owner) as (folder, name):
        place_file(folder, name, data, mode, owner)


def put(source: Path, root: int, parts: tuple[str, ...], *, owner: Owner) -> None:
    """Copy a host file or folder to ``parts`` below ``root``."""
    try:
        top = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(f"Cannot put {str(source)!r}: {error.strerror}.") from None
    try:
        for entry in walk(top, (source.name,), limit=_ANY):
            write_entry(root, (*parts, *entry.path), entry, owner=owner)
    finally:
        os.close(top)


def get(
    root: int,
    parts: tuple[str, ...],
    target: Path,
    *,
    limit: int,
    limits: SnapshotLimits | None = None,
) -> None:
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
        for entry in walk(root, parts, limit=limit, limits=limits):
            write_entry(folder, ("it", *entry.path), entry, owner=None, confined=True)
        (hidden / "it").replace(target)
    except OSError as error:
        raise SandboxError(f"Cannot get {_show(parts)}: {error.strerror}.") from None
    finally:
        os.close(folder)
        shutil.rmtree(hidden, ignore_errors=True)


def walk(
    root: int,
    parts: Sequence[str],
    *,
    limit: int,
    skip: Collection[str] = (),
    limits: SnapshotLimits | None = None,
) -> Iterator[Entry]:
    """Yield the entry at ``parts`` and all below it, folders first, paths relative to it.

    Args:
        root: the folder to start from.
        parts: the names that lead to the entry.
        limit: bytes of all files; of this and ``limits``, the smaller number counts.
        skip: names directly in ``root``, where all of it is walked.
        limits: further limits.

    Raises:
        ContentsExceeded: a limit was exceeded while reading.
        SandboxViolation: something is neither file, folder nor link.
        SandboxError: it does not exist.
    """
    given = limits or SnapshotLimits(total_bytes=_ANY)
    tally = TransferTally(replace(given, total_bytes=min(limit, given.total_bytes)), _show(parts))
    if not parts:
        yield Entry((), 0o755)
        yield from _Walk(tally, skip).folder(os.open(".", _FOLDER, dir_fd=root), (), parts)
        return
    with _parent(root, parts) as (folder, name):
        yield from _Walk(tally).one(folder, name, (), parts)


class _Walk:
    """One walk and what it has met so far."""

    def __init__(self, tally: TransferTally, skip: Collection[str] = ()) -> None:
        self._tally, self._skip = tally, skip

    def folder(self, folder: int, path: tuple[str, ...], top: Sequence[str]) -> Iterator[Entry]:
        try:
            self._tally.check("depth", len(path) + 1)
            for name in self._names(folder):
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
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                link = os.readlink(name, dir_fd=folder)
                self._tally.add("path_bytes", len(os.fsencode(link)))
                yield Entry(path, 0o777, link=link, owner=(found.st_uid, found.st_gid))
            elif stat.S_ISDIR(kind):
                below = os.open(name, _FOLDER, dir_fd=folder)
                found = os.fstat(below)
                owner = (found.st_uid, found.st_gid)
                try:
                    yield Entry(path, stat.S_IMODE(found.st_mode) & 0o777, owner=owner)
                except BaseException:
                    os.close(below)
                    raise
                yield from self.folder(below, path, top)
            else:
                with _opened(folder, name, shown) as file:
                    found = os.fstat(file)
                    self._tally.add("total_bytes", found.st_size)
                    yield Entry(
                        path,
                        stat.S_IMODE(found.st_mode) & 0o777,
                        file=file,
                        size=found.st_size,
                        owner=(found.st_uid, found.st_gid),
                    )
        except FileNotFoundError:
            # Gone since it was listed; only the named entry itself must exist.
            if not path:
                raise SandboxError(f"{_show(shown)} is not there.") from None
        except OSError as error:
            raise SandboxViolation(f"{_show(shown)} changed its kind: {error.strerror}.") from None

    def _names(self, folder: int) -> list[str]:
        names = []
        with os.scandir(folder) as listing:
            for item in listing:
                names.append(item.name)
                self._tally.add("entries", 1)
                self._tally.add("path_bytes", len(os.fsencode(item.name)))
        return sorted(names)


def write_entry(
    root: int, path: tuple[str, ...], entry: Entry, *, owner: Owner, confined: bool = False
) -> None:
    """Write one entry of a walk below ``root``; ``confined`` refuses links that lead out.

    An existing folder keeps its owner and its mode.
    """
    if entry.is_folder:
        os.close(_folder(root, path, create_for=owner, mode=(entry.mode & 0o755) | 0o700))
        return
    with _parent(root, path, create_for=owner) as (folder, name):
        if entry.link is None:
            if entry.file is None:
                raise SandboxError(f"{_show(path)} is neither file nor link.")
            place_file(folder, name, chunks(entry.file, entry.size), entry.mode, owner)
            return
        if confined and not _stays_inside(entry.path, entry.link):
            raise SandboxViolation(f"{_show(entry.path)} links to {entry.link!r}, out of the copy.")
        place_link(folder, name, entry.link, owner)


def _stays_inside(path: tuple[str, ...], link: str) -> bool:
    """Return whether a link only leads to real folders above it and names below them.

    ``..`` may only come first: after a name, that name could be a link itself.
    """
    words = PurePosixPath(link).parts
    ups = next((i for i, word in enumerate(words) if word != ".."), len(words))
    return bool(words) and words[0] != "/" and ".." not in words[ups:] and ups < len(path)


@contextmanager
def _parent(
    root: int, parts: Sequence[str], create_for: Owner | bool = False
) -> Iterator[tuple[int, str]]:
    if not parts:
        raise SandboxError("This needs the path of a file, not of the whole place.")
    folder = _folder(root, parts[:-1], create_for=create_for)
    try:
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _folder(root: int, parts: Sequence[str], *, create_for: Owner | bool, mode: int = 0o755) -> int:
    """Open a folder below ``root``; create what is missing unless ``create_for`` is ``False``.

    The last one is created with ``mode``, its parents with the default mode.
    """
    here = os.open(".", _FOLDER, dir_fd=root)
    try:
        for number, name in enumerate(parts, 1):
            below = _step(here, name, create_for, mode if number == len(parts) else 0o755)
            os.close(here)
            here = below
    except OSError as error:
        os.close(here)
        shown = _show(parts)
        if isinstance(error, FileNotFoundError):
            raise SandboxError(f"The folder of {shown} is not there.") from None
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SandboxError(f"Cannot make the folder {shown}: {error.strerror}.") from None
        raise SandboxViolation(
            f"{name!r} on the way to {shown} is no folder but a link or file: {error.strerror}."
        ) from None
    return here


def _step(folder: int, name: str, create_for: Owner | bool, mode: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if isinstance(create_for, bool):
            raise
    if create_for is None:
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)
    return place_folder(folder, name, mode, create_for)


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


def chunks(file: int, most: int | None = None) -> Iterator[bytes]:
    """Yield the contents of an open file, at most ``most`` bytes or its size at the start."""
    left = os.fstat(file).st_size if most is None else most
    while left > 0:
        chunk = os.read(file, min(_CHUNK, left))
        if not chunk:
            return
        left -= len(chunk)
        yield chunk


def _show(parts: Sequence[str]) -> str:
    """Return a path for messages: escape sequences in it reach no terminal."""
    return repr("/".join(parts))
