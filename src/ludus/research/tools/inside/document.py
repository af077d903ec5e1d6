"""A text file as lines, and the window of it that is shown."""

from __future__ import annotations

import os
from pathlib import Path

from .state import Complaint, write_whole

__all__ = ["Document", "window_height"]

_LARGEST = 10 << 20
_LONGEST_LINE = 2000


def window_height() -> int:
    """Return how many lines are shown at a time."""
    try:
        return min(1000, max(5, int(os.environ.get("LUDUS_TOOL_WINDOW", "100"))))
    except ValueError:
        return 100


class Document:
    """The lines of a file, without their ends, and how they end.

    Bytes that are not UTF-8 survive reading and writing as they were.
    """

    def __init__(
        self, path: Path, lines: list[str], ending: str = "\n", ends_whole: bool = True
    ) -> None:
        self.path, self.lines, self.ending, self.ends_whole = path, lines, ending, ends_whole

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a file.

        Raises:
            Complaint: it is not there, no file, or too large.
        """
        if path.is_dir():
            raise Complaint(f"{path} is a folder; name a file in it.")
        if not path.is_file():
            raise Complaint(f"There is no file {path}. Make it with: create PATH")
        if path.stat().st_size > _LARGEST:
            raise Complaint(f"{path} has more than {_LARGEST:,} bytes; use head or sed.")
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        ending = "\r\n" if "\r\n" in text else "\n"
        lines = text.split(ending)
        ends_whole = lines[-1] == ""
        if ends_whole:
            lines.pop()
        return cls(path, lines, ending, ends_whole)

    @property
    def text(self) -> str:
        """The file's contents."""
        end = self.ending if self.ends_whole and self.lines else ""
        return self.ending.join(self.lines) + end

    def replaced(self, start: int, stop: int, new: list[str]) -> Document:
        """Return a copy with the lines from ``start`` up to before ``stop`` (from 0) replaced."""
        lines = [*self.lines[:start], *new, *self.lines[stop:]]
        # Text added at the end starts on a new line.
        whole = self.ends_whole or stop >= len(self.lines)
        return Document(self.path, lines, self.ending, whole)

    def write(self) -> None:
        """Write the file, whole or not at all."""
        write_whole(self.path, self.text.encode("utf-8", "surrogateescape"))

    def first_for(self, line: int) -> int:
        """Return the first line of the window that has ``line`` a sixth from its top."""
        height = window_height()
        last_first = max(1, len(self.lines) - height + 1)
        return min(max(1, line - height // 6), last_first)

    def window(self, first: int) -> str:
        """Return the window that begins at ``first``, with line numbers."""
        height, total = window_height(), len(self.lines)
        if not total:
            return f"{self.path} is empty.\n"
        first = min(max(1, first), total)
        last = min(total, first + height - 1)
        shown = "".join(f"{n:>6}  {_cut(self.lines[n - 1])}\n" for n in range(first, last + 1))
        return f"{self.path}: lines {first} to {last} of {total}\n{shown}"


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]} ({len(line) - _LONGEST_LINE} more characters)"
