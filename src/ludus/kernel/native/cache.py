"""Compiled code on disk.

A file holds one function: a line of JSON (its symbol, the names it needs, the processor it is for,
and a hash of these and the code), then the object code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ludus.atomic import write_whole
from ludus.foreign_files import read_regular

__all__ = ["ObjectCode", "cache_folder", "keep", "kept"]

_LARGEST = 1 << 26  # bytes of a function's file; the largest of Ludus's own have thousands


class ObjectCode(NamedTuple):
    """A compiled function.

    Attributes:
        symbol: Its name in the object file.
        code: The object file.
        needs: The names that it expects from elsewhere.
        target: The processor that it was compiled for, in LLVM's words.
    """

    symbol: str
    code: bytes
    needs: tuple[str, ...]
    target: str

    def header(self) -> dict[str, Any]:
        """Return all but the code, and a hash of everything."""
        fields = {"symbol": self.symbol, "needs": list(self.needs), "target": self.target}
        seal = hashlib.sha256(json.dumps(fields).encode() + b"\0" + self.code).hexdigest()
        return {**fields, "sha256": seal}


def keep(path: Path, function: ObjectCode) -> ObjectCode:
    """Write a function to a file, if that is possible; return the function."""
    header = json.dumps(function.header())
    # Others may be writing the same; whoever is last replaces a file by its equal. A full disk
    # costs the next process a compile, and this one nothing.
    with contextlib.suppress(OSError):
        write_whole(path, header.encode() + b"\n" + function.code, durable=False)
    return function


def kept(path: Path) -> ObjectCode | None:
    """Return the function in a file, ``None`` if there is no such file or it is damaged."""
    try:
        # Never waits: a pipe counts as damaged. Links are followed: the cache of a sandbox consists
        # of links to what the host has compiled, and nobody else writes to a cache folder.
        content = read_regular(path, _LARGEST)
        line, code = content.split(b"\n", 1)
        header = json.loads(line)
        needs = tuple(map(str, header["needs"]))
        function = ObjectCode(str(header["symbol"]), code, needs, str(header["target"]))
        if function.header() == header:
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
    from tempfile import mkdtemp

    return Path(mkdtemp(prefix="ludus-kernels-"))


def _is_own(folder: Path) -> bool:
    if not hasattr(os, "getuid"):
        return os.access(folder, os.W_OK)
    status = folder.stat()
    private = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return private and os.access(folder, os.W_OK)
