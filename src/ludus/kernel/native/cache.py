"""The cache of object code on disk.

A file contains one function: a line of JSON (its symbol, the symbols it needs, the processor it was
compiled for, and a hash of these and the code), then the object code.
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
        needs: The external symbols that it needs.
        target: LLVM's description of the processor that it was compiled for.
    """

    symbol: str
    code: bytes
    needs: tuple[str, ...]
    target: str

    def header(self) -> dict[str, Any]:
        """Return the fields without the code, and a hash of everything."""
        fields = {"symbol": self.symbol, "needs": list(self.needs), "target": self.target}
        seal = hashlib.sha256(json.dumps(fields).encode() + b"\0" + self.code).hexdigest()
        return {**fields, "sha256": seal}


def keep(path: Path, function: ObjectCode) -> ObjectCode:
    """Write a function to a file, if possible; return the function."""
    header = json.dumps(function.header())
    # Concurrent writers write the same content. If the disk is full, the next process compiles.
    with contextlib.suppress(OSError):
        write_whole(path, header.encode() + b"\n" + function.code, durable=False)
    return function


def kept(path: Path) -> ObjectCode | None:
    """Return the function in a file, ``None`` if the file is missing or damaged."""
    try:
        # Only regular files, so that a pipe cannot block. Links are followed, because the cache of
        # a sandbox consists of links to the host's files.
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
    """Return the folder for compiled kernels: ``LUDUS_CACHE``, or the user's cache folder.

    Its files are executed, so a folder that other users may write to is not used.
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
