"""Where things are kept that take time to make: data of tasks, the tools of sandboxes."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder(kind: str) -> Path:
    """Return a private folder below ``LUDUS_CACHE`` or the user's cache.

    It holds labels and programs that sandboxes run, so another user's folder is not used.
    """
    base = os.environ.get("LUDUS_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    top = Path(base).expanduser().absolute() / "ludus" / "research"
    try:
        top.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = top.stat()
        own = status.st_uid == os.getuid() and not status.st_mode & 0o077
    except OSError:
        own = False
    folder = (top if own and os.access(top, os.W_OK) else _passing()) / kind
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


@cache
def _passing() -> Path:
    return Path(tempfile.mkdtemp(prefix="ludus-research-"))
