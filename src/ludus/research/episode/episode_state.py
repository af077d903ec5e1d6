"""The state of an episode as plain data: files, shell, counters, validations."""

from __future__ import annotations

import dataclasses
import struct
import tempfile
from pathlib import PurePosixPath
from typing import Any

from ludus.core.state import copy_plain
from ludus.errors import ContentsExceeded, StateError
from ludus.research.episode.episode import ResearchEpisode
from ludus.research.task.outcome import Graded
from ludus.research.task.task import ActionResult, BaseTask
from ludus.sandbox import Sandbox, Snapshot, SnapshotLimits
from ludus.sandbox.backend.root_image import python_paths

__all__ = ["LARGEST", "load", "save", "workspace"]

LARGEST = 1 << 30
"""Bytes of a folder in a state, what lists its files included."""
_ENTRIES = 50_000
_NAMES = 16 << 20
_LEVELS = 64


def save(episode: ResearchEpisode, rules: BaseTask, *, limit: int = LARGEST) -> dict[str, Any]:
    """Return a running episode as plain data.

    It includes ``/workspace``, ``/tmp``, and the shell's folder, variables, functions, aliases and
    options. Of each folder at most ``limit`` bytes are read.

    Raises:
        SandboxError: The sandbox is gone, or holds what no snapshot can.
        StateError: A folder is too large or too deep, or has too many files or too long names; or
            the history holds other than plain data.
        OSError: A folder cannot be read, or the host's disk is full.
    """
    sandbox = episode.terminal.sandbox
    # First, since its shell has to run for it.
    terminal = episode.terminal.save()
    with episode.jobs.frozen():
        workspace = _contents(sandbox, "/workspace", limit)
        tmp = _contents(sandbox, "/tmp", limit)  # noqa: S108 - inside a sandbox
    return {
        "workspace": workspace,
        "tmp": tmp,
        "terminal": terminal,
        "steps": episode.steps,
        "seconds": episode.seconds,
        "waited": episode.waited,
        "cost": episode.cost,
        "validations": [made.plain() for made in episode.validations],
        "validation_faults": episode.validation_faults,
        "validations_before": episode.validations_before,
        "jobs": episode.jobs.plain(),
        "history": [_plain(result) for result in rules.history],
    }


def workspace(episode: ResearchEpisode, limit: int) -> bytes:
    """Return the workspace as a state holds it, of at most ``limit`` bytes.

    Raises:
        SandboxError: As for :func:`save`, as the next two.
        StateError: It holds too much.
        OSError: It cannot be read.
    """
    with episode.jobs.frozen():
        return _contents(episode.terminal.sandbox, "/workspace", limit)


def load(saved: dict[str, Any], episode: ResearchEpisode) -> list[ActionResult]:
    """Restore :func:`save`'s state into a fresh episode; return the history.

    Raises:
        StateError: The state is damaged.
        SandboxError: The sandbox cannot hold it.
    """
    try:
        for name, place in (("workspace", "/workspace"), ("tmp", "/tmp")):  # noqa: S108
            with _snapshot(saved[name]) as snapshot:
                _restore(episode.terminal.sandbox, place, snapshot)
        episode.terminal.load(saved["terminal"])
        episode.steps, episode.cost = int(saved["steps"]), float(saved["cost"])
        episode.seconds, episode.waited = float(saved["seconds"]), float(saved.get("waited", 0.0))
        episode.validations = [Graded.from_plain(made) for made in saved["validations"]]
        episode.validation_faults = int(saved["validation_faults"])
        episode.validations_before = int(saved["validations_before"])
        episode.jobs.resume(saved.get("jobs", []))
        return [ActionResult(**result) for result in copy_plain(saved["history"])]
    except (KeyError, TypeError, ValueError, struct.error) as problem:
        raise StateError(f"The state of the episode is damaged: {problem!r}.") from problem


def _plain(result: ActionResult) -> dict[str, Any]:
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    return dict(copy_plain(fields, "history"))


def _contents(sandbox: Sandbox, place: str, limit: int) -> bytes:
    """Return what a folder holds; the host spends no more on it than the limits, while reading."""
    most = min(limit, sandbox._size_limit())
    limits = SnapshotLimits(entries=_ENTRIES, path_bytes=_NAMES, depth=_LEVELS, total_bytes=most)
    try:
        with sandbox._in_use():
            taken = Snapshot.take(
                sandbox._root(place), skip=_mounted(sandbox, place), limits=limits
            )
        with taken as snapshot:
            snapshot._file.seek(0)
            kept = snapshot._file.read(limit + 1)
    except ContentsExceeded as problem:
        raise StateError(f"{place} holds too much for a state: {problem}") from problem
    if len(kept) > limit:
        raise StateError(f"{place} takes more than {limit:,} bytes, too many for a state.")
    return kept


def _restore(sandbox: Sandbox, place: str, snapshot: Snapshot) -> None:
    with sandbox._in_use():
        snapshot.restore(
            sandbox._root(place), owner=sandbox._owner(), keep=_mounted(sandbox, place)
        )


def _mounted(sandbox: Sandbox, place: str) -> set[str]:
    """Return the names in a folder of a sandbox that contain mounts and must not be removed."""
    paths = (PurePosixPath(mount.target) for mount in (*python_paths(), *sandbox.policy.mounts))
    inside = (path.relative_to(place).parts for path in paths if path.is_relative_to(place))
    return {parts[0] for parts in inside if parts}


def _snapshot(data: bytes) -> Snapshot:
    # Not a context manager: the snapshot owns the file from here on.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    snapshot = Snapshot(file, 0, 0)
    try:
        file.write(data)
        file.seek(0)
        # A state may have been tampered with: names in it must not lead elsewhere.
        for path, _, _, chunks in snapshot._records():
            if not path or any(name in ("", ".", "..") or "/" in name for name in path):
                raise StateError(f"The state holds a file called {path!r}.")
            for _chunk in chunks or ():
                pass
    except BaseException:
        snapshot.close()
        raise
    return snapshot
