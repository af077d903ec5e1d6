"""A copy of a workspace, in a file without a name: it vanishes with the last who holds it."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Collection, Iterator
from typing import IO, Self

from ludus.errors import SandboxError
from ludus.sandbox import transfer
from ludus.sandbox.clearing import clear

__all__ = ["Snapshot"]

_CHUNK = 1 << 18
_SIZE = struct.Struct(">I")


class Snapshot:
    """What a workspace held at one moment. Made by ``Sandbox.snapshot()``.

    Attributes:
        entries: files, folders and links in it.
        size: bytes of its files.
    """

    def __init__(self, file: IO[bytes], entries: int, size: int) -> None:
        self._file, self.entries, self.size = file, entries, size

    @classmethod
    def take(cls, root: int, *, limit: int, skip: Collection[str] = ()) -> Snapshot:
        """Copy all below the folder ``root``, but for some names in it.

        Raises:
            SandboxViolation: it holds more than ``limit`` bytes, or devices, fifos, sockets.
        """
        # Not a context manager: the snapshot owns the file from here on.
        file = tempfile.TemporaryFile()  # noqa: SIM115
        entries = size = 0
        try:
            for entry in transfer.walk(root, (), limit=limit, skip=skip):
                if entry.path:
                    entries += 1
                    size += _store(file, entry)
        except BaseException:
            file.close()
            raise
        return cls(file, entries, size)

    def restore(self, root: int, *, owner: int | None, keep: Collection[str] = ()) -> None:
        """Empty the folder ``root`` and write everything back.

        Args:
            root: the folder.
            owner: of what is written.
            keep: names in the folder that are left as they are, such as where something is mounted.

        Raises:
            SandboxError: the snapshot is closed, or writing failed.
        """
        if self._file.closed:
            raise SandboxError("This snapshot was closed.")
        clear(root, keep=keep)
        self._file.seek(0)
        for path, mode, link, chunks in self._records():
            if path[0] in keep:
                for _ in chunks or ():
                    continue
            elif link is not None:
                entry = transfer.Entry(path, mode, link=link)
                transfer.write_entry(root, path, entry, owner=owner)
            elif chunks is not None:
                transfer.write_file(root, path, chunks, owner=owner, mode=mode)
            else:
                transfer.write_entry(root, path, transfer.Entry(path, mode), owner=owner)

    def close(self) -> None:
        """Free the space; the snapshot cannot be restored any more."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _records(
        self,
    ) -> Iterator[tuple[tuple[str, ...], int, str | None, Iterator[bytes] | None]]:
        while line := self._file.readline():
            path, mode, kind, link = json.loads(line)
            yield tuple(path), mode, link, self._chunks() if kind == "file" else None

    def _chunks(self) -> Iterator[bytes]:
        while size := _SIZE.unpack(self._file.read(_SIZE.size))[0]:
            yield self._file.read(size)


def _store(file: IO[bytes], entry: transfer.Entry) -> int:
    kind = "folder" if entry.is_folder else "link" if entry.link is not None else "file"
    file.write(json.dumps([entry.path, entry.mode, kind, entry.link]).encode() + b"\n")
    size = 0
    if entry.file is not None:
        for chunk in transfer.chunks(entry.file):
            file.write(_SIZE.pack(len(chunk)))
            file.write(chunk)
            size += len(chunk)
        file.write(_SIZE.pack(0))
    return size
