"""Folders that are made once and kept: put in their place whole, checked before each use."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from ludus import logger
from ludus.errors import ResearchError

__all__ = ["cache_folder", "kept_folder"]


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


_CONTENTS = "contents.json"
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)
# By place: how the files looked when their contents were found to be right.
_right: dict[Path, str] = {}


def kept_folder(place: Path, fill: Callable[[Path], None]) -> Path:
    """Return a folder that ``fill`` has filled, now or in an earlier process.

    Its contents are compared with their hashes once per process, later by sizes and times. A
    damaged folder is made again, with a warning.

    Args:
        place: Its path; parents are created.
        fill: Writes the contents into an empty folder, the same ones each time.

    Raises:
        ResearchError: The disk is full, or cannot be written to.
    """
    try:
        if place.is_dir():
            if _is_right(place):
                return place
            if (place / _CONTENTS).exists():
                logger.warn(f"{place} was damaged on the disk. It is made anew.")
            _remove(place)
        _make(place, fill)
    except OSError as problem:
        raise ResearchError(
            f"{place} cannot be made: {problem}. Make room there, or set LUDUS_CACHE to another "
            "folder."
        ) from problem
    return place


def _make(place: Path, fill: Callable[[Path], None]) -> None:
    place.parent.mkdir(exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        fill(made)
        (made / _CONTENTS).write_text(json.dumps(_sums(made)), "utf-8")
        # Sandboxes have users of their own; who may come here at all is decided further up.
        for path in (made, *made.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        try:
            made.rename(place)
        except OSError as problem:
            # Another process may have made the same folder first.
            if problem.errno not in _TAKEN:
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _remove(place: Path) -> None:
    aside = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        # Another process may have removed it, for the same reason.
        with suppress(FileNotFoundError):
            place.rename(aside / "old")
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _is_right(place: Path) -> bool:
    try:
        look = _look(place)
        if _right.get(place) == look:
            return True
        is_right = bool(json.loads((place / _CONTENTS).read_text("utf-8")) == _sums(place))
    except (OSError, ValueError):
        return False
    if is_right:
        _right[place] = look
    return is_right


def _look(place: Path) -> str:
    """Return what changes whenever a file is changed by ordinary means."""
    total = hashlib.sha256()
    for path in sorted(place.rglob("*")):
        found = path.lstat()
        seen = (str(path), found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        total.update(repr(seen).encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _sums(place: Path) -> dict[str, str]:
    """Return the SHA-256 of every file by its path; folders have none."""
    return {
        path.relative_to(place).as_posix(): _sum(path)
        for path in sorted(place.rglob("*"))
        if path != place / _CONTENTS
    }


def _sum(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if path.is_dir():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
