"""A copy of a workspace in an unnamed temporary file."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import IO, Self

from ludus.errors import SandboxError, SandboxViolation
from ludus.sandbox.transfer import copying
from ludus.sandbox.transfer.clearing import clear
from ludus.sandbox.transfer.limits import SnapshotLimits, TransferTally
from ludus.sandbox.transfer.placing import private_folder

__all__ = ["Snapshot"]

_CHUNK = 1 << 18
_NOBODY = (1 << 32) - 1
_SIZE = struct.Struct(">I")
_Record = tuple[copying.Entry, Iterator[bytes] | None]


class Snapshot:
    """The contents of a workspace at one moment. Made by ``Sandbox.snapshot()``.

    Files of the sandbox's user belong to the user of the sandbox in which they are restored. Files
    of others keep their owner, where the caller is root.

    Attributes:
        entries: number of files, folders and links.
        size: bytes of its files.
    """

    def __init__(self, file: IO[bytes], entries: int, size: int) -> None:
        self._file, self.entries, self.size = file, entries, size

    @classmethod
    def take(
        cls,
        root: int,
        *,
        limit: int | None = None,
        skip: Collection[str] = (),
        limits: SnapshotLimits | None = None,
        owner: int | None = None,
    ) -> Snapshot:
        """Copy everything below the folder ``root``.

        Args:
            root: the folder.
            limit: bytes of all files; of this and ``limits``, the smaller number counts.
            skip: names in the folder that are left out.
            limits: checked while reading: the host spends no more, in memory or on disk.
            owner: the sandbox's user; by default that of the folder.

        Raises:
            ContentsExceeded: it holds more than the limits.
            SandboxViolation: it holds devices, fifos or sockets.
        """
        given = limits or SnapshotLimits()
        most = given.total_bytes if limit is None else min(limit, given.total_bytes)
        own = os.fstat(root).st_uid if owner is None else owner
        tally = TransferTally(given, "The snapshot")
        # Not a context manager: the snapshot owns the file from here on.
        file = tempfile.TemporaryFile()  # noqa: SIM115
        entries = size = 0
        try:
            walk = copying.walk(root, (), limit=most, skip=skip, limits=given)
            for entry in walk:
                if entry.path:
                    entries += 1
                    size += _store(file, entry, own, tally)
        except BaseException:
            file.close()
            raise
        return cls(file, entries, size)

    def restore(
        self,
        root: int,
        *,
        owner: int | None,
        keep: Collection[str] = (),
        limits: SnapshotLimits | None = None,
    ) -> None:
        """Empty the folder ``root`` and write everything back.

        As root, files are first written where the sandbox cannot enter: it sees none before it has
        its owner and its mode.

        Args:
            root: the folder.
            owner: of what belonged to the sandbox's user.
            keep: names in the folder to leave unchanged, such as mount points.
            limits: how much is written; the snapshot may have been tampered with.

        Raises:
            ContentsExceeded: it holds more than the limits.
            SandboxViolation: it is damaged.
            SandboxError: the snapshot is closed, or writing failed.
        """
        if self._file.closed:
            raise SandboxError("This snapshot was closed.")
        privileged = os.geteuid() == 0
        clear(root, keep=keep, owner=owner)
        self._file.seek(0)
        try:
            with private_folder(root) if privileged else nullcontext(root) as place:
                try:
                    self._write(place, owner, keep, limits, privileged=privileged)
                    with os.scandir(place) as listing:
                        names = [item.name for item in listing] if privileged else []
                    for name in names:
                        os.rename(name, name, src_dir_fd=place, dst_dir_fd=root)
                finally:
                    if privileged:
                        clear(place)
        except OSError as error:
            raise SandboxError(f"Cannot restore the snapshot: {error.strerror}.") from None
        except (ValueError, TypeError, struct.error) as error:
            raise SandboxViolation(f"The snapshot is damaged: it has {error}.") from None

    def _write(
        self,
        place: int,
        owner: int | None,
        keep: Collection[str],
        limits: SnapshotLimits | None,
        *,
        privileged: bool,
    ) -> None:
        for entry, chunks in self._read(limits or SnapshotLimits()):
            path = entry.path
            if not path or any(_leads_elsewhere(name) for name in path):
                raise ValueError(f"a file called {path!r}")
            # Without root no owner can be changed, and no other user's files could be read.
            given = entry.owner if entry.owner is not None and privileged else owner
            if path[0] in keep:
                for _ in chunks or ():
                    continue
            elif chunks is not None:
                copying.write_file(place, path, chunks, owner=given, mode=entry.mode)
            else:
                copying.write_entry(place, path, entry, owner=given)

    def close(self) -> None:
        """Free the space; the snapshot cannot be restored any more."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _records(
        self, limits: SnapshotLimits | None = None
    ) -> Iterator[tuple[tuple[str, ...], int, str | None, Iterator[bytes] | None]]:
        """Yield path, mode, target of a link, and contents of a file."""
        for entry, chunks in self._read(limits or SnapshotLimits()):
            yield entry.path, entry.mode, entry.link, chunks

    def _read(self, limits: SnapshotLimits) -> Iterator[_Record]:
        """Yield what is stored; the file may have been tampered with.

        Raises:
            ContentsExceeded: it is more than the limits.
            ValueError, TypeError, struct.error: it is damaged.
        """
        tally = TransferTally(limits, "The snapshot")
        while line := self._file.readline(limits.path_bytes + 1):
            tally.add("path_bytes", len(line))
            tally.add("entries", 1)
            entry, is_file = _parse(line)
            # The folder in which a file lies counts, not the file.
            tally.check("depth", len(entry.path) - (0 if entry.is_folder and not is_file else 1))
            yield entry, self._chunks(tally) if is_file else None

    def _chunks(self, tally: TransferTally) -> Iterator[bytes]:
        while size := _SIZE.unpack(self._file.read(_SIZE.size))[0]:
            if size > _CHUNK:
                raise ValueError(f"a piece of {size:,} bytes")
            tally.add("total_bytes", size)
            yield self._file.read(size)


def _store(file: IO[bytes], entry: copying.Entry, own: int, tally: TransferTally) -> int:
    kind = "folder" if entry.is_folder else "link" if entry.link is not None else "file"
    foreign = None if entry.owner is None or entry.owner[0] == own else entry.owner
    words = [entry.path, entry.mode, kind, entry.link, *([] if foreign is None else [foreign])]
    # A name keeps its bytes, also where they are no text.
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "surrogateescape") + b"\n"
    tally.add("path_bytes", len(line))
    file.write(line)
    size = 0
    if entry.file is not None:
        for chunk in copying.chunks(entry.file, entry.size):
            file.write(_SIZE.pack(len(chunk)))
            file.write(chunk)
            size += len(chunk)
        file.write(_SIZE.pack(0))
    return size


def _parse(line: bytes) -> tuple[copying.Entry, bool]:
    """Return what a line says, and whether the contents of a file follow."""
    path, mode, kind, link, *more = json.loads(line.decode("utf-8", "surrogateescape"))
    owner = None
    if more:
        uid, gid = more[0]
        if not all(isinstance(number, int) and 0 <= number < _NOBODY for number in (uid, gid)):
            raise ValueError(f"an owner {more[0]!r}")
        owner = (uid, gid)
    entry = copying.Entry(tuple(path), int(mode), link=link if kind == "link" else None)
    return replace(entry, owner=owner), kind == "file"


def _leads_elsewhere(name: object) -> bool:
    return not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name
