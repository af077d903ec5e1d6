"""Whole trajectories at once."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Trajectory"]


class Trajectory(NamedTuple):
    """What ``steps`` steps of ``n`` environments returned; time is the first axis.

    ``observations[t]`` is what step ``t`` returned, after ``actions[t]``.
    """

    observations: Any
    actions: Any
    rewards: Any
    terminations: Any
    truncations: Any
