"""Compiled code on disk.

A file holds one function: a line of JSON (its symbol, and a hash of that and the code), then the
object code.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["KeptCode", "cache_folder", "keep", "kept"]


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
    # Others may be writing the same; whoever is last replaces a file by its equal.
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        draft.write_bytes(header.encode() + b"\n" + function.code)
        draft.replace(path)
    except OSError:
        # A full disk costs the next process a compile, and this one nothing.
        draft.unlink(missing_ok=True)
    return function


def kept(path: Path) -> KeptCode | None:
    """Return the function in a file, ``None`` if there is no such file or it is damaged."""
    try:
        line, code = path.read_bytes().split(b"\n", 1)
        header = json.loads(line)
        function = KeptCode(str(header["symbol"]), code)
        if function.seal() == header["sha256"]:
            return function
    except (OSError, ValueError, KeyError, TypeError):
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
