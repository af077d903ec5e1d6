"""States of an unfinished episode, in files beside its record.

The record names the digest of each, so that a changed or incomplete state counts as missing. They
are removed when the episode is over.

A checkpoint costs the host a bounded amount of memory and disk, whatever an agent makes of its
workspace or of its own state. One that cannot be made is left out; it never ends an episode.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from ludus.atomic import write_whole
from ludus.codec import DecodeLimits, decode, encode
from ludus.errors import CodecError
from ludus.foreign_files import read_regular

__all__ = ["LARGEST", "Checkpoints"]

LARGEST = 1 << 27
"""Bytes of one state; an episode with a larger workspace is resumed by repeating its actions.

At most two of the agent and two of its sandbox are kept at a time, the one being written included.
"""
_LIMITS = DecodeLimits(
    total_bytes=LARGEST,
    string_bytes=LARGEST,
    array_bytes=LARGEST,
    depth=64,
    items=4_000_000,
)


class Checkpoints:
    """The states of one episode, in a folder that is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, name: str, owner: Any, **more: Any) -> str | None:
        """Store ``owner.get_state()``, and more plain data.

        Returns:
            Its digest; ``None`` if the owner has no state, or it is too large or cannot be stored.
        """
        try:
            if not callable(getattr(owner, "get_state", None)):
                return None
            data = encode({"state": owner.get_state(), **more}, _LIMITS, name=name)
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / name, data, durable=False)
        except KeyboardInterrupt:
            raise
        except (
            BaseException
        ):  # get_state is the agent's own code and may raise anything; so may a full disk
            return None
        return hashlib.sha256(data).hexdigest()

    def load(self, name: str, digest: str | None) -> dict[str, Any] | None:
        """Return what was stored under a name, if it has this digest."""
        if digest is None:
            return None
        try:
            data = read_regular(self._folder / name, LARGEST, follow=False)
            if hashlib.sha256(data).hexdigest() != digest:
                return None
            found = decode(data, _LIMITS)
        except (OSError, CodecError):
            return None
        return found if isinstance(found, dict) and "state" in found else None

    def keep_only(self, *names: str) -> None:
        """Remove all others."""
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.name not in names:
                with suppress(OSError):
                    path.unlink()

    def clear(self) -> None:
        """Remove all."""
        shutil.rmtree(self._folder, ignore_errors=True)
