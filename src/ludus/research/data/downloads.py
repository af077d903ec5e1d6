"""Gets the files of a dataset, from the network or a folder, and unpacks archives.

Nothing is believed about what comes: sizes are bounded, digests are compared if they are declared,
and archives may hold plain files below their folder only.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

from ludus.errors import DataMissing

__all__ = ["Download", "Progress", "fetch_file", "is_address"]

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes that have come, and how many there will be, if known."""

LARGEST = 64 << 30
"""Bytes of one download, and of what one archive unpacks to."""
_CHUNK = 1 << 20
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a dataset.

    Attributes:
        url: Its address.
        path: Where it lies below the dataset's folder; for an archive, the folder it is unpacked
            into.
        sha256: Its digest, if it is known.
        unpack: Whether it is an archive (``.tar``, ``.tar.gz``, ``.zip``).
    """

    url: str
    path: str
    sha256: str = ""
    unpack: bool = False

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(urllib.parse.urlsplit(self.url).path).name


def is_address(text: str) -> bool:
    """Whether a text is the address of a web server."""
    return text.startswith(("http://", "https://"))


def fetch_file(
    download: Download, folder: Path, origin: str = "", progress: Progress | None = None
) -> str:
    """Get a file and put it, or what it unpacks to, below a folder; return its SHA-256.

    Args:
        download: The file.
        folder: The dataset's folder.
        origin: A folder, or the address of one, with a file of the same name, instead of its own
            address.
        progress: Called while it comes.

    Raises:
        DataMissing: It cannot be had, or is another file; the message says what to do.
        OSError: It cannot be written.
    """
    target = folder / download.path
    own = target / f".{download.name}.part" if download.unpack else target
    own.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with _opened(download, origin) as (stream, size), own.open("wb") as file:
        _check_room(folder, download.name, size)
        done = 0
        while chunk := _read(stream, download.name):
            done += len(chunk)
            if done > LARGEST:
                raise DataMissing(f"{download.name} has more than {LARGEST >> 30} GiB.")
            digest.update(chunk)
            file.write(chunk)
            if progress is not None:
                progress(download.name, done, size)
    if size is not None and done != size:
        raise DataMissing(f"{download.name} ended after {done:,} of {size:,} bytes. Try again.")
    found = digest.hexdigest()
    if download.sha256 and found != download.sha256:
        raise DataMissing(
            f"{download.name} is another file than expected: its SHA-256 is {found}, not "
            f"{download.sha256}. It was damaged on its way, or changed at its origin; it is not "
            "used."
        )
    if download.unpack:
        _unpack(own, target, download.name)
        own.unlink()
    return found


@contextmanager
def _opened(download: Download, origin: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """Open a file, and tell its size if it is known."""
    if origin and not is_address(origin):
        path = Path(origin) / download.name
        with path.open("rb") as file:
            yield file, path.stat().st_size
        return
    url = f"{origin.rstrip('/')}/{download.name}" if origin else download.url
    if not is_address(url):
        raise DataMissing(f"{url!r} is no address; expected one that begins with https://.")
    try:
        with _opener().open(url, timeout=_SECONDS) as answer:
            length = answer.headers.get("Content-Length", "")
            yield answer, int(length) if length.isdecimal() else None
    except urllib.error.HTTPError as problem:
        raise DataMissing(f"{url} answers {problem.code} {problem.reason}.") from problem
    except urllib.error.URLError as problem:
        raise DataMissing(f"{url} cannot be reached: {problem.reason}.") from problem


def _opener() -> urllib.request.OpenerDirector:
    """Return what opens web addresses and no others, wherever it is sent on to."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _read(stream: IO[bytes], name: str) -> bytes:
    try:
        return stream.read(_CHUNK)
    except (http.client.HTTPException, ConnectionError, TimeoutError) as problem:
        raise DataMissing(f"{name} broke off: {problem}. Try again.") from problem


def _check_room(folder: Path, name: str, size: int | None) -> None:
    free = shutil.disk_usage(folder).free
    if size is not None and size > free:
        raise DataMissing(
            f"{name} has {size:,} bytes, and {free:,} are free in {folder}. Make room there, or "
            "set LUDUS_CACHE to another folder."
        )


def _unpack(archive: Path, target: Path, name: str) -> None:
    left = LARGEST
    try:
        for path, stream, size in _members(archive, name):
            inside = PurePosixPath(path)
            if inside.is_absolute() or ".." in inside.parts:
                raise DataMissing(f"{name} holds {path!r}, which leads out of it; it is not used.")
            left -= size
            if left < 0:
                raise DataMissing(f"{name} unpacks to more than {LARGEST >> 30} GiB.")
            own = target / inside
            own.parent.mkdir(parents=True, exist_ok=True)
            with stream, own.open("wb") as file:
                shutil.copyfileobj(stream, file, _CHUNK)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, RuntimeError, ValueError) as problem:
        raise DataMissing(f"{name} is no whole archive: {problem}. Fetch it again.") from problem


def _members(archive: Path, name: str) -> Iterator[tuple[str, IO[bytes], int]]:
    """Yield the plain files of an archive: path, content, and size."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                if not member.is_dir():
                    yield member.filename, packed.open(member), member.file_size
        return
    if not tarfile.is_tarfile(archive):
        raise DataMissing(f"{name} is neither a tar nor a zip archive. Fetch it again.")
    with tarfile.open(archive, "r:*") as packed_tar:
        for entry in packed_tar:
            if entry.isreg() and (stream := packed_tar.extractfile(entry)):
                yield entry.name, stream, entry.size
