"""Shows a file: open, goto, scroll_up, scroll_down."""

from __future__ import annotations

from pathlib import Path

from .document import Document, window_height
from .state import Complaint, load_open, save_open

__all__ = ["goto", "open_file", "scroll_down", "scroll_up", "show"]

# Lines of the last window that the next one shows again.
_OVERLAP = 2


def open_file(path: str, line: int = 1) -> str:
    """Open a file and show it around a line."""
    return show(Document.read(Path(path).resolve()), line)


def goto(line: int) -> str:
    """Show the open file around a line."""
    path, _ = load_open()
    return show(Document.read(path), line)


def scroll_up() -> str:
    """Show the lines before those shown last."""
    return _scroll(-1)


def scroll_down() -> str:
    """Show the lines after those shown last."""
    return _scroll(+1)


def show(document: Document, line: int) -> str:
    """Remember a file as the open one and show it around a line.

    Raises:
        Complaint: it has no such line.
    """
    total = len(document.lines)
    if not 1 <= line <= max(1, total):
        raise Complaint(f"There is no line {line}: {document.path} has {total} lines.")
    first = document.first_for(line)
    save_open(document.path, first)
    return document.window(first)


def _scroll(direction: int) -> str:
    path, first = load_open()
    document = Document.read(path)
    height = window_height()
    last_first = max(1, len(document.lines) - height + 1)
    first = min(max(1, first + direction * (height - _OVERLAP)), last_first)
    save_open(path, first)
    return document.window(first)
