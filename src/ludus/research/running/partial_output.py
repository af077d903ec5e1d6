"""What the running command has printed so far, in the file ``partial.txt`` beside the record.

Who watches an episode reads it. The file is no part of the record: no event mentions it, it is
bounded, and it is removed after the step. What a killed process leaves is removed when the episode
is resumed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from ludus.errors import RecordError
from ludus.record.format.disk import AppendFile
from ludus.record.format.folder import Folder

__all__ = ["PARTIAL", "PartialOutput", "free_bytes"]

PARTIAL = "partial.txt"


class PartialOutput:
    """Writes the output of one command at a time; a context manager that removes the file.

    A disk that fails is no failure of the episode: the rest of the output is then not in the file.

    Args:
        record: The folder of the record.

    Attributes:
        printed: Bytes that the command has printed.
        kept: Bytes of them in the file, the first ones.
    """

    def __init__(self, record: Path) -> None:
        self.path = record / PARTIAL
        self._folder: Folder | None = None
        self._file: AppendFile | None = None
        self._limit = self.printed = self.kept = 0

    def begin(self, limit: int) -> None:
        """Keep at most ``limit`` bytes of the next command's output."""
        self._limit, self.printed, self.kept = limit, 0, 0

    def write(self, piece: bytes) -> None:
        """Take the next piece of output."""
        self.printed += len(piece)
        piece = piece[: self._limit - self.kept]
        if not piece or self._folder is None:
            return
        try:
            if self._file is None:
                self._file = self._folder.open_append(PARTIAL)
            self.kept = self._file.write(self.kept, [piece])
        except (OSError, RecordError):
            self._limit = self.kept

    def end(self) -> None:
        """Remove the file, if there was any output."""
        if self._file is not None:
            self._remove()

    def __enter__(self) -> Self:
        self._folder = Folder(self.path.parent)
        self._remove()  # what a killed process has left
        return self

    def __exit__(self, *exc: object) -> None:
        self._remove()
        if self._folder is not None:
            self._folder.close()

    def _remove(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
        if self._folder is not None:
            with suppress(OSError):  # such as a folder of that name
                self._folder.remove(PARTIAL)


def free_bytes(folder: Path) -> int:
    """Return how much the disk of a folder can still hold; 0 if that is unknown."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
