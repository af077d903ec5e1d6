"""Gets the files of a dataset, from the network or a folder.

Nothing is believed about what comes: sizes are bounded, digests are compared if they are declared,
a disk is not filled, and a server that sends next to nothing is not waited for.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from ludus.errors import DataMissing
from ludus.research.data.web import opened

__all__ = ["Download", "Progress", "Room", "fetch_file", "is_address"]

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes that have come, and how many there will be, if known."""

LARGEST = 64 << 30
"""Bytes of one download, and of what one archive unpacks to."""
RESERVE = 256 << 20
"""Bytes of the disk that stay free."""
SECONDS = 60.0
"""How long a server may be silent, or send less than ``LEAST``."""
LEAST = 64 << 10
_CHUNK = 1 << 20
_BETWEEN = 64 << 20


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a dataset.

    Attributes:
        url: Its address.
        path: Where it lies below the dataset's folder; for an archive, the folder it is unpacked
            into.
        sha256: Its digest, if it is known.
        unpack: Whether it is an archive (``.tar``, ``.tar.gz``, ``.tar.bz2``, ``.zip``).
    """

    url: str
    path: str
    sha256: str = ""
    unpack: bool = False

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(urllib.parse.urlsplit(self.url).path).name


class Room:
    """Counts what is written, and refuses what the limit or the disk has no room for.

    Args:
        folder: Where it is written to.
        name: Of what is written, for messages.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._done = self._looked = 0
        self.check(0)

    def take(self, count: int) -> None:
        """Count bytes that are about to be written.

        Raises:
            DataMissing: There is no room for them.
        """
        self._done += count
        if self._done > LARGEST:
            raise DataMissing(f"{self._name} has more than {LARGEST >> 30} GiB.")
        if self._done - self._looked >= _BETWEEN:
            self._looked = self._done
            self.check(count)

    def check(self, size: int) -> None:
        """Check that so many bytes fit on the disk.

        Raises:
            DataMissing: They do not.
        """
        free = shutil.disk_usage(self._folder).free
        if size + RESERVE > free:
            raise DataMissing(
                f"{self._name} has {size:,} bytes or more to come, and {free:,} are free in "
                f"{self._folder}, of which {RESERVE >> 20} MiB are left. Make room there, or set "
                "LUDUS_CACHE to another folder."
            )


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
    from ludus.research.data.unpacking import unpack

    target = folder / download.path
    own = target / f".{download.name}.part" if download.unpack else target
    own.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with _opened(download, origin) as (read, size), own.open("wb") as file:
        room, done = Room(folder, download.name), 0
        if size is not None:
            room.check(size)
        while chunk := _chunk(read, download.name):
            done += len(chunk)
            room.take(len(chunk))
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
        unpack(own, target, download.name)
        own.unlink()
    return found


@contextmanager
def _opened(download: Download, origin: str) -> Iterator[tuple[Callable[[int], bytes], int | None]]:
    """Open a file, and tell its size if it is known."""
    if origin and not is_address(origin):
        path = Path(origin) / download.name
        with path.open("rb") as file:
            yield file.read1, path.stat().st_size
        return
    url = f"{origin.rstrip('/')}/{download.name}" if origin else download.url
    if not is_address(url):
        raise DataMissing(f"{url!r} is no address; expected one that begins with https://.")
    with opened(url, SECONDS, LEAST) as (stream, size):
        yield stream.read1, size


def _chunk(read: Callable[[int], bytes], name: str) -> bytes:
    try:
        return read(_CHUNK)
    except (http.client.HTTPException, ConnectionError, TimeoutError) as problem:
        raise DataMissing(f"{name} broke off: {problem}. Try again.") from problem
