"""Compiled code on disk.

A file holds one function: a line of JSON (its symbol, and a hash of that and the code), then the
object code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ludus.atomic import write_whole
from ludus.foreign_files import read_regular

__all__ = ["KeptCode", "cache_folder", "keep", "kept"]

_LARGEST = 1 << 26  # bytes of a function's file; the largest of Ludus's own have thousands


class KeptCode(NamedTuple):
    """A function: its name, and an object file that has it."""

    symbol: str
    code: bytes

    def seal(self) -> str:
        """Return a hash of both."""
        return hashlib.sha256(self.symbol.encode() + b"\0" + self.code).hexdigest()


def keep(path: Path, function: KeptCode) -> KeptCode:
    """Write a function to a file, if that is possible; return the function."""
    header = json.dumps({"symbol": function.symbol, "sha256": function.seal()})
    # Others may be writing the same; whoever is last replaces a file by its equal. A full disk
    # costs the next process a compile, and this one nothing.
    with contextlib.suppress(OSError):
        write_whole(path, header.encode() + b"\n" + function.code, durable=False)
    return function


def kept(path: Path) -> KeptCode | None:
    """Return the function in a file, ``None`` if there is no such file or it is damaged."""
    try:
        # Not through a link, and never waiting: a pipe in its place counts as damaged.
        content = read_regular(path, _LARGEST, follow=False)
        line, code = content.split(b"\n", 1)
        header = json.loads(line)
        function = KeptCode(str(header["symbol"]), code)
        if function.seal() == header["sha256"]:
            return function
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


@cache
def cache_folder() -> Path:
    """Return the folder for compiled kernels: ``LUDUS_CACHE``, or below the user's cache.

    What lies there is run, so a folder that others may write to is not used.
    """
    base = os.environ.get("LUDUS_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "ludus" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_own(folder):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="ludus-kernels-"))


def _is_own(folder: Path) -> bool:
    if not hasattr(os, "getuid"):
        return os.access(folder, os.W_OK)
    status = folder.stat()
    private = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return private and os.access(folder, os.W_OK)
