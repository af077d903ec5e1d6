"""Linear policies: the action with the largest weighted sum of a few features is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHAPE = (5, 3)
weights = np.zeros(SHAPE)


def choices(weights: NDArray[np.float64], observations: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the actions of one linear policy for all rows, or of another one for each row."""
    paddle, ball, before = observations[..., :3].any(axis=1).argmax(axis=1).T
    height = observations[..., 1].any(axis=2).argmax(axis=1)
    way = ball - paddle
    features = np.stack(
        [np.sign(way), np.sign(before - paddle), way / 10, height / 10, np.ones(len(way))], axis=1
    )
    return (features[:, :, None] * weights).sum(axis=1).argmax(axis=1)


def start(policy: int, environments: int) -> None:
    """Get ready to play as one of the five policies."""
    global weights
    weights = np.load(Path(__file__).with_name("weights.npz"))["weights"][policy]


def act(observations: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the action for each environment."""
    return choices(weights, observations)
