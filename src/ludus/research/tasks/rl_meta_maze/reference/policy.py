"""Follow a state machine: what is seen leads to the next state, and each state has its action."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WALLS, REWARD = slice(0, 9), 13
POWERS = 2 ** np.arange(9)
arrays: dict[str, NDArray[np.int64]] = {}
states: NDArray[np.int64] = np.zeros(0, np.int64)


def start(policy: int, environments: int) -> None:
    """Get ready to play."""
    global arrays, states
    arrays = dict(np.load(Path(__file__).with_name("weights.npz")))
    states = np.zeros(environments, np.int64)


def act(observations: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the action for each environment."""
    global states
    seen = arrays["views"][observations[:, WALLS].astype(np.int64) @ POWERS]
    rewarded = (observations[:, REWARD] > 0).astype(np.int64)
    states = arrays["following"][states, rewarded, seen]
    return arrays["actions"][states]
