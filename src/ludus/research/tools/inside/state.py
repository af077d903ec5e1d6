"""State of the tools between two calls: the open file, and requests to the host.

The host does not trust it, as it trusts nothing that comes out of a sandbox.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

__all__ = ["Complaint", "file_request", "folder", "load_open", "save_open", "write_whole"]


class Complaint(Exception):
    """Something the caller of a tool should do otherwise; the text says what."""


def folder() -> Path:
    """Return the folder of the tools' files, made if it is not there."""
    path = Path(os.environ.get("LUDUS_TOOL_STATE", "/tmp/.ludus"))  # noqa: S108 - the sandbox's own
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def load_open() -> tuple[Path, int]:
    """Return the open file and the first line shown of it.

    Raises:
        Complaint: no file is open, or it is gone.
    """
    try:
        found = json.loads((folder() / "open.json").read_text("utf-8"))
        path, first = Path(found["file"]), int(found["first"])
    except (OSError, ValueError, KeyError, TypeError):
        raise Complaint("No file is open. Open one: open PATH [LINE]") from None
    if not path.is_file():
        raise Complaint(f"The open file {path} is gone. Open another: open PATH [LINE]")
    return path, first


def save_open(path: Path, first: int) -> None:
    """Remember the open file and the first line shown of it."""
    said = json.dumps({"file": str(path), "first": first})
    write_whole(folder() / "open.json", said.encode())


def file_request(name: str) -> None:
    """Leave a request for the host, which reads it after the command.

    Each has a new token: the host serves one that it has not seen yet.
    """
    place = folder() / "requests"
    place.mkdir(mode=0o700, exist_ok=True)
    write_whole(place / name, os.urandom(16).hex().encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, keeping its mode.

    Ludus is not installed where the tools run, so this does not use ``ludus.atomic``.
    """
    target = Path(os.path.realpath(path))
    hidden = target.with_name(f".{os.urandom(8).hex()}.part")
    try:
        hidden.write_bytes(data)
        if target.exists():
            hidden.chmod(target.stat().st_mode & 0o7777)
        hidden.replace(target)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise
