"""Linear policies with some noise: the action with the largest weighted sum is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHAPE = (15, 4)
weights = np.zeros(SHAPE)
rng = np.random.default_rng(0)


def choices(
    weights: NDArray[np.float64], observations: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the actions of one linear policy for all rows, or of another one for each row."""
    features = observations.astype(np.float64)
    features[:, 13] /= 10.0
    # The time is of no use to a policy without memory.
    features[:, 14] = 1.0
    sums = (features[:, :, None] * weights).sum(axis=1)
    return (sums + rng.random(sums.shape)).argmax(axis=1)


def start(policy: int, environments: int) -> None:
    """Get ready to play as one of the five policies."""
    global weights, rng
    weights = np.load(Path(__file__).with_name("weights.npz"))["weights"][policy]
    rng = np.random.default_rng(policy)


def act(observations: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the action for each environment."""
    return choices(weights, observations, rng)
