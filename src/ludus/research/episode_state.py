"""An episode as plain data: what the box holds, what the shell is at, what was scored."""

from __future__ import annotations

import dataclasses
import struct
import tempfile
from pathlib import PurePosixPath
from typing import Any

from ludus.core.state import copy_plain
from ludus.errors import StateError
from ludus.research.assessment import Assessment
from ludus.research.episode import Episode
from ludus.research.task import BaseTask, Result
from ludus.sandbox import Sandbox, Snapshot
from ludus.sandbox.image import python_paths

__all__ = ["load", "save"]

_LARGEST = 1 << 30


def save(episode: Episode, rules: BaseTask) -> dict[str, Any]:
    """Return a running episode as plain data.

    Part of it are ``/workspace``, ``/tmp``, and of the shell its folder, variables, functions,
    aliases and options.

    Raises:
        SandboxError: The box is gone, or holds what no snapshot can.
        StateError: The workspace is too large, or the history holds other than plain data.
    """
    return {
        "workspace": _contents(episode.terminal.box, "/workspace"),
        "tmp": _contents(episode.terminal.box, "/tmp"),  # noqa: S108 - inside a box
        "terminal": episode.terminal.save(),
        "steps": episode.steps,
        "seconds": episode.seconds,
        "cost": episode.cost,
        "validations": [made.plain() for made in episode.validations],
        "history": [_plain(result) for result in rules.history],
    }


def load(saved: dict[str, Any], episode: Episode) -> list[Result]:
    """Continue in a fresh episode from what :func:`save` returned; return the history.

    Raises:
        StateError: The state is damaged.
        SandboxError: The box cannot hold it.
    """
    try:
        for name, place in (("workspace", "/workspace"), ("tmp", "/tmp")):  # noqa: S108
            with _snapshot(saved[name]) as snapshot:
                _restore(episode.terminal.box, place, snapshot)
        episode.terminal.load(saved["terminal"])
        episode.steps, episode.cost = int(saved["steps"]), float(saved["cost"])
        episode.seconds = float(saved["seconds"])
        episode.validations = [Assessment(**made) for made in saved["validations"]]
        return [Result(**result) for result in copy_plain(saved["history"])]
    except (KeyError, TypeError, ValueError, struct.error) as problem:
        raise StateError(f"The state of the episode is damaged: {problem!r}.") from problem


def _plain(result: Result) -> dict[str, Any]:
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    return dict(copy_plain(fields, "history"))


def _contents(box: Sandbox, place: str) -> bytes:
    options: dict[str, Any] = {"limit": box._size_limit(), "skip": _mounted(box, place)}
    with box._in_use(), Snapshot.take(box._root(place), **options) as snapshot:
        if snapshot.size > _LARGEST:
            raise StateError(f"{place} holds {snapshot.size:,} bytes, too many for a state.")
        snapshot._file.seek(0)
        return snapshot._file.read()


def _restore(box: Sandbox, place: str, snapshot: Snapshot) -> None:
    with box._in_use():
        snapshot.restore(box._root(place), owner=box._owner(), keep=_mounted(box, place))


def _mounted(box: Sandbox, place: str) -> set[str]:
    """Return the names in a folder of a box below which something is mounted.

    Who removes them removes what is mounted, such as a Python that lies below ``/tmp``.
    """
    paths = (PurePosixPath(mount.target) for mount in (*python_paths(), *box.policy.mounts))
    inside = (path.relative_to(place).parts for path in paths if path.is_relative_to(place))
    return {parts[0] for parts in inside if parts}


def _snapshot(data: bytes) -> Snapshot:
    # Not a context manager: the snapshot owns the file from here on.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(data)
    file.seek(0)
    snapshot = Snapshot(file, 0, 0)
    # A state may come from a file that somebody changed: names in it must not lead elsewhere.
    for path, _, _, chunks in snapshot._records():
        if not path or any(name in ("", ".", "..") or "/" in name for name in path):
            raise StateError(f"The state holds a file called {path!r}.")
        for _chunk in chunks or ():
            pass
    return snapshot
