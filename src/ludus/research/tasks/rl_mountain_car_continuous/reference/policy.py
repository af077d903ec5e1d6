"""Push where the car is going, all the time with the same force, which the start decides on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FIRST, LAST = -0.6, -0.4
table: NDArray[np.float64] = np.zeros(1)
force: NDArray[np.float64] | None = None


def places(positions: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return in which of ``count`` equal parts of the valley's bottom cars are."""
    shares = (positions.astype(np.float64) - FIRST) / (LAST - FIRST)
    return np.clip((shares * count).astype(np.int64), 0, count - 1)


def start(policy: int, environments: int) -> None:
    """Get ready to play."""
    global table, force
    table = np.load(Path(__file__).with_name("weights.npz"))["forces"]
    force = None


def act(observations: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the force for each environment."""
    global force
    position, velocity = observations.T
    if force is None:
        force = table[places(position, len(table))]
    return np.where(velocity >= 0, force, -force)
