"""The places where attacks are performed: every backend, and no box at all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ludus.sandbox import Enforcement, Policy, open_sandbox
from ludus.sandbox.opening import backend_class
from ludus.sandbox.transfer.clearing import clear
from tests.sandbox.attacks.naive import NaiveBox

__all__ = ["SLOW", "close_shared", "give_back", "lend", "open_box"]

SLOW = ("podman", "docker")
"""Backends whose boxes are worth keeping for the next attack."""
KEPT = 3
_SHARED: dict[tuple[str, str], Any] = {}


@cache
def able(backend: str) -> Enforcement:
    """What a backend can do here."""
    return backend_class(backend).enforcement()


def lend(backend: str, limits: Mapping[str, Any], folder: Path) -> Any:
    """Open a box for one attack, or take one of the same policy that the last attack left whole.

    Every command has processes of its own, which end with it, and the writable places are
    emptied in between: what an attack finds is what a fresh box has.
    """
    return _SHARED.pop((backend, repr(limits)), None) or open_box(backend, limits, folder)


def give_back(backend: str, limits: Mapping[str, Any], box: Any) -> None:
    """Keep a box for the next attack, if it is worth it and nothing is left in it."""
    own = {"mounts", "environment", "wall"} & limits.keys()
    if backend not in SLOW or own or not _is_whole(box):
        box.close()
        return
    _SHARED[backend, repr(limits)] = box
    while len(_SHARED) > KEPT:
        _SHARED.pop(next(iter(_SHARED))).close()


def close_shared() -> None:
    """Close the boxes that no attack will use any more."""
    while _SHARED:
        _SHARED.popitem()[1].close()


def _is_whole(box: Any) -> bool:
    try:
        for place in ("/workspace", "/tmp", "/dev/shm"):
            clear(box._root(place))
        return box.run(["true"], timeout=2).returncode == 0 and box.usage().pids_now == 1
    except Exception:
        return False


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
    holds = able(backend).holds
    dropped = {name: None for name in ("memory", "cpus", "pids", "disk") if not holds(name)}
    return open_sandbox(Policy(**{**dropped, **limits}), backend=backend)


def _open_unisolated(limits: Mapping[str, Any]) -> Any:
    """The backend that only keeps time and order takes no other limits."""
    kept = {name: limits[name] for name in ("wall", "idle", "output") if name in limits}
    none: dict[str, Any] = dict.fromkeys(("memory", "cpus", "pids", "disk", "tmp", "files"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return open_sandbox(Policy(**none, **kept, network="host"), backend="process")
