"""Results that are kept in the state folder until a file that they were derived from changes."""

from __future__ import annotations

import json
import marshal
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ludus.atomic import write_whole
from ludus.errors import SandboxError
from ludus.sandbox.leases import state_folder

__all__ = ["Sources", "recall", "remember", "sources"]

# ruff: noqa: PTH123 - read before the first sandbox opens
_MOST = 16
_SETTLED = 2.0  # seconds; a younger change may share its time stamp with one that follows


class Sources(NamedTuple):
    """Files and folders that a result depends on.

    Args:
        paths: where they are.
        digest: changes whenever one of them does.
        changed: when one of them changed last, in nanoseconds of the clock.
    """

    paths: Sequence[str]
    digest: str
    changed: int


def sources(paths: Sequence[str]) -> Sources:
    """Return files and folders as they are now; one that is missing counts as such."""
    found: list[tuple[int, ...] | None] = []
    look, changed = os.lstat, 0
    for path in paths:
        try:
            was = look(path)
        except OSError:
            found.append(None)
            continue
        found.append((was.st_dev, was.st_ino, was.st_size, was.st_mtime_ns, was.st_ctime_ns))
        changed = max(changed, was.st_ctime_ns)
    # Version 2 writes equal data as equal bytes, in a fifth of the time of `repr`.
    return Sources(paths, sha256(marshal.dumps(found, 2)).hexdigest(), changed)


def recall(key: str) -> Any:
    """Return what was kept under ``key``, or ``None`` if it is missing, damaged or out of date."""
    try:
        with open(_place(key), "rb") as file:
            kept = json.load(file)
        if kept["key"] == key and kept["digest"] == sources(kept["paths"]).digest:
            return kept["value"]
    except (OSError, SandboxError, ValueError, KeyError, TypeError):
        pass
    return None


def remember(key: str, value: Any, derived_from: Sources) -> None:
    """Keep plain data.

    Nothing is kept if a source changed just now, or if the state folder cannot be written.

    Args:
        key: a text that says what it is.
        value: what JSON can hold.
        derived_from: its sources, looked at before the value was derived from them.
    """
    if derived_from.changed > time.time_ns() - _SETTLED * 1e9:
        return
    kept = {"key": key, "paths": derived_from.paths, "digest": derived_from.digest, "value": value}
    with suppress(OSError, SandboxError):
        place = _place(key)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(place, json.dumps(kept).encode(), durable=False, mode=0o600)
        newest = sorted(place.parent.glob("*.json"), key=lambda path: -path.stat().st_mtime)
        for path in newest[_MOST:]:
            path.unlink(missing_ok=True)


def _place(key: str) -> Path:
    return state_folder() / "remembered" / f"{sha256(key.encode()).hexdigest()[:32]}.json"
