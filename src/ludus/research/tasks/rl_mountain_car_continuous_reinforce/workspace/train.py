"""Train five linear policies with REINFORCE, and write weights.npz.

A policy's weights are drawn around a mean once per episode, and the mean moves by the gradient of
the log-probability of the draws, each times what its episode earned. Nothing is subtracted from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from policy import FEATURES, forces

import ludus

POLICIES, FRAMES = 5, 200
UPDATES, EPISODES = 15, 256
SPREAD, STEP = 0.5, 0.002

envs = ludus.make_vec("MountainCarContinuous-v0", num_envs=EPISODES)


def returns_of(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return what each row of weights earns in an episode of its own."""
    observations, _ = envs.reset(seed=seed)
    plays = np.ones(len(weights), np.bool_)
    returns = np.zeros(len(weights))
    for _ in range(FRAMES):
        actions = forces(weights, observations)[:, None].astype(np.float32)
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        returns += np.where(plays, rewards, 0.0)
        plays &= ~(terminations | truncations)
    return returns


def train(seed: int) -> NDArray[np.float64]:
    """Return the weights of one policy."""
    rng = np.random.default_rng(seed)
    mean = np.zeros(FEATURES)
    for _ in range(UPDATES):
        noise = rng.normal(size=(EPISODES, FEATURES))
        earned = returns_of(mean + SPREAD * noise, int(rng.integers(2**31)))
        gradient = (earned[:, None] * noise).mean(axis=0) / SPREAD
        mean = mean + STEP * gradient
    return mean


def main() -> None:
    """Train all policies."""
    np.savez("weights.npz", weights=np.array([train(seed) for seed in range(POLICIES)]))
    print("wrote weights.npz; try `python evaluate.py`")


if __name__ == "__main__":
    main()
