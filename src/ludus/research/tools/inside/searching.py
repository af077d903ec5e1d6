"""Find things: search_dir, search_file, find_file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

from .document import Document
from .state import Complaint, load_open

__all__ = ["find_file", "search_dir", "search_file"]

_MOST = 100
_LARGEST = 10 << 20


def search_dir(text: str, folder: str = ".") -> str:
    """List the files below a folder that hold a text, and how often."""
    found = []
    for path in _files(folder):
        try:
            if path.stat().st_size > _LARGEST:
                continue
            data = path.read_bytes()
        except OSError:
            continue
        # A NUL byte distinguishes data from text.
        if b"\0" not in data and (count := data.count(text.encode("utf-8", "surrogateescape"))):
            found.append(f"{path}  ({count})\n")
    return _listing(found, f"files below {folder} with {text!r}")


def search_file(text: str, path: str = "") -> str:
    """List the lines of a file, or of the open one, that hold a text."""
    document = Document.read(Path(path).resolve() if path else load_open()[0])
    found = [f"{n:>6}  {line}\n" for n, line in enumerate(document.lines, 1) if text in line]
    return _listing(found, f"lines of {document.path} with {text!r}")


def find_file(pattern: str, folder: str = ".") -> str:
    """List the files below a folder whose names match a pattern such as ``*.csv``."""
    found = [f"{path}\n" for path in _files(folder) if fnmatch.fnmatch(path.name, pattern)]
    return _listing(found, f"files below {folder} called {pattern!r}")


def _files(folder: str) -> Iterator[Path]:
    """Yield the files below a folder in order, leaving out hidden folders."""
    if not Path(folder).is_dir():
        raise Complaint(f"There is no folder {folder}.")
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file():
                yield path


def _listing(found: list[str], what: str) -> str:
    if not found:
        return f"Found no {what}.\n"
    more = f"... and {len(found) - _MOST} more; narrow it down.\n" if len(found) > _MOST else ""
    return f"Found {len(found)} {what}:\n{''.join(found[:_MOST])}{more}"
