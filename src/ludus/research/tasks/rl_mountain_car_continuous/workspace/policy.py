"""Linear policies: the force is a weighted sum of position, velocity and one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FEATURES = 3
weights = np.zeros(FEATURES)


def forces(weights: NDArray[np.float64], observations: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the forces of one linear policy for all rows, or of another one for each row."""
    position, velocity = observations.T.astype(np.float64)
    features = np.stack([position + 0.5, 20 * velocity, np.ones_like(position)], axis=-1)
    return np.clip((features * weights).sum(axis=-1), -1.0, 1.0)


def start(policy: int, environments: int) -> None:
    """Get ready to play as one of the five policies."""
    global weights
    weights = np.load(Path(__file__).with_name("weights.npz"))["weights"][policy]


def act(observations: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the force for each environment."""
    return forces(weights, observations)
