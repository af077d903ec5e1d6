"""The places where attacks are performed: every backend, and no box at all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ludus.sandbox import Policy, doctor, open_sandbox
from tests.sandbox.attacks.naive import NaiveBox

__all__ = ["diagnoses", "open_box"]


@cache
def diagnoses() -> dict[str, Any]:
    """What each backend can do here."""
    return {found.backend: found for found in doctor()}


def open_box(backend: str, limits: Mapping[str, Any], folder: Path) -> Any:
    """Open a box with an attack's limits.

    Args:
        backend: ``"naive"`` for no defence of any kind, or a backend's name.
        limits: fields of the policy; the other fields are the defaults that hold here.
        folder: where to put what has no box.
    """
    if backend == "naive":
        count = len(list(folder.glob("box-*")))
        return NaiveBox(folder / f"box-{count}" / "workspace")
    if backend == "process":
        return _open_unisolated(limits)
    able = diagnoses()[backend].enforcement
    dropped = {name: None for name in ("memory", "cpus", "pids", "disk") if not able.holds(name)}
    return open_sandbox(Policy(**{**dropped, **limits}), backend=backend)


def _open_unisolated(limits: Mapping[str, Any]) -> Any:
    """The backend that only keeps time and order takes no other limits."""
    kept = {name: limits[name] for name in ("wall", "idle", "output") if name in limits}
    none: dict[str, Any] = dict.fromkeys(("memory", "cpus", "pids", "disk", "tmp", "files"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return open_sandbox(Policy(**none, **kept, network="host"), backend="process")
