"""Attacks on a box, by theme; each must succeed without a box and fail in one."""

from __future__ import annotations

from tests.sandbox.attacks import (
    buffers,
    covert,
    disk,
    files,
    intake,
    kernel,
    leaks,
    loaded,
    mounts,
    network,
    output,
    privileges,
    processes,
    procfs,
    resources,
    sharing,
    shell,
    transfer,
)

__all__ = ["ATTACKS"]

THEMES = (
    files,
    procfs,
    mounts,
    privileges,
    kernel,
    network,
    leaks,
    resources,
    disk,
    buffers,
    sharing,
    covert,
    output,
    processes,
    transfer,
    intake,
    shell,
    loaded,
)
ATTACKS = tuple(attack for theme in THEMES for attack in theme.ATTACKS)
