"""Unpacks archives that need not be trusted: plain files below a folder, within limits.

Python's readers of archives take what a header says: a name of gigabytes is read into memory as one
piece. So they read through :class:`_Bounded`.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ludus.errors import DataMissing
from ludus.research.data import downloads
from ludus.research.data.downloads import Room

__all__ = ["unpack"]

MOST_FILES = 1_000_000
_CHUNK = 1 << 20
_MOST_OF_HEADERS = 64 << 20
"""Bytes of the headers of one file, and of a zip archive's table."""
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Of compression in zip archives; LZMA is told by its data how much memory to take."""
_NAMES = (errno.EEXIST, errno.EINVAL, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTDIR)
_DAMAGED = (
    EOFError, LookupError, OverflowError, RuntimeError, ValueError, gzip.BadGzipFile, struct.error,
    tarfile.TarError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def unpack(archive: Path, target: Path, name: str) -> None:
    """Put the plain files of an archive below a folder; links and special files are left out.

    Raises:
        DataMissing: It is no archive, damaged, too large, or a path leads out of it.
        OSError: Something cannot be written.
    """
    room = Room(target, f"{name}, unpacked,")
    try:
        for path, stream in _members(archive, name):
            inside = PurePosixPath(path)
            if inside.is_absolute() or ".." in inside.parts:
                raise DataMissing(f"{name} holds {path!r}, which leads out of it; it is not used.")
            with stream:
                _write(stream, target / inside, room, name)
    except _DAMAGED as problem:
        raise DataMissing(f"{name} is no whole archive: {problem}. Fetch it again.") from problem


def _write(stream: IO[bytes], own: Path, room: Room, name: str) -> None:
    try:
        own.parent.mkdir(parents=True, exist_ok=True)
        file = own.open("wb")
    except OSError as problem:
        if problem.errno not in _NAMES:
            raise
        raise DataMissing(
            f"{name} holds {own.name!r:.200}, which cannot be a file there: {problem.strerror}."
        ) from problem
    with file:
        while chunk := stream.read(_CHUNK):
            room.take(len(chunk))
            file.write(chunk)


def _members(archive: Path, name: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the plain files of an archive: path and content."""
    with archive.open("rb") as file:
        if zipfile.is_zipfile(archive):
            bounded = _Bounded(file)
            with zipfile.ZipFile(bounded) as packed:
                yield from _of_zip(packed, bounded, name)
            return
        start = file.read(2)
        file.seek(0)
        plain: IO[bytes] = _COMPRESSED[start](file) if start in _COMPRESSED else file
        bounded = _Bounded(plain)
        try:
            packed_tar = tarfile.TarFile(fileobj=bounded)
        except (tarfile.TarError, EOFError, OSError, zlib.error) as problem:
            raise DataMissing(
                f"{name} is neither a tar nor a zip archive, or damaged. Fetch it again."
            ) from problem
        with packed_tar:
            yield from _of_tar(packed_tar, bounded, name)
        while plain.read(_CHUNK):  # the checksum is at the end
            bounded.seek(bounded.tell())


def _of_zip(
    packed: zipfile.ZipFile, bounded: _Bounded, name: str
) -> Iterator[tuple[str, IO[bytes]]]:
    members = packed.infolist()
    _check_count(len(members), name)
    bounded.left = None
    for member in members:
        if member.compress_type not in _KINDS:
            raise DataMissing(f"{name} is compressed in a way that is not read; use deflate.")
        if not member.is_dir():
            yield member.filename, packed.open(member)


def _of_tar(
    packed: tarfile.TarFile, bounded: _Bounded, name: str
) -> Iterator[tuple[str, IO[bytes]]]:
    count = 0
    while (entry := packed.next()) is not None:
        count += 1
        _check_count(count, name)
        # Kept otherwise until the end, as many as there are.
        packed.members, packed.pax_headers = [], {}  # type: ignore[attr-defined]
        bounded.left = None
        if entry.isreg() and (stream := packed.extractfile(entry)):
            yield entry.name, stream
        bounded.left = _MOST_OF_HEADERS


def _check_count(count: int, name: str) -> None:
    if count > MOST_FILES:
        raise DataMissing(f"{name} holds more than {MOST_FILES:,} files.")


def _gzip(file: IO[bytes]) -> IO[bytes]:
    return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]


def _bzip2(file: IO[bytes]) -> IO[bytes]:
    return bz2.BZ2File(file)


_COMPRESSED = {b"\x1f\x8b": _gzip, b"BZ": _bzip2}


class _Bounded(io.RawIOBase):
    """A file from which no piece that a header asks for is read if it is too large.

    Attributes:
        left: How many bytes may be read; ``None`` while the content of a file is.
    """

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file
        self.left: int | None = _MOST_OF_HEADERS

    def read(self, size: int = -1, /) -> bytes:
        """Return so many bytes, or all."""
        most = _MOST_OF_HEADERS if self.left is None else self.left
        if size > most:
            raise tarfile.ReadError("a header in it is too large")
        data: bytes = self._file.read(most + 1 if size < 0 else size)
        if self.left is not None:
            self.left -= len(data)
            if self.left < 0:
                raise tarfile.ReadError("headers in it are too large")
        return data

    def seek(self, place: int, whence: int = 0, /) -> int:
        """Go to a place, which decompresses what lies before it."""
        if whence == 0 and place > downloads.LARGEST:
            raise tarfile.ReadError(f"it unpacks to more than {downloads.LARGEST >> 30} GiB")
        return int(self._file.seek(place, whence))

    def tell(self) -> int:
        """Return the place."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """Places can be gone to."""
        return True
