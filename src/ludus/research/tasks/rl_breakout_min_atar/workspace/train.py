"""Train five linear policies with the cross-entropy method, and write weights.npz.

Each generation draws candidates around a mean, lets each play some episodes, and moves the mean to
those that earned most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from policy import SHAPE, choices

import ludus

POLICIES, FRAMES = 5, 300
GENERATIONS, CANDIDATES, ELITE, EPISODES = 10, 32, 6, 8
FIRST_SPREAD, LEAST_SPREAD = 1.0, 0.02

envs = ludus.make_vec("MinAtar/Breakout-v1", num_envs=CANDIDATES * EPISODES)


def mean_returns(candidates: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return what each candidate earns on average."""
    weights = candidates.repeat(EPISODES, axis=0)
    observations, _ = envs.reset(seed=seed)
    plays = np.ones(len(weights), np.bool_)
    returns = np.zeros(len(weights))
    for _ in range(FRAMES):
        observations, rewards, terminations, truncations, _ = envs.step(
            choices(weights, observations)
        )
        returns += np.where(plays, rewards, 0.0)
        plays &= ~(terminations | truncations)
        if not plays.any():
            break
    return returns.reshape(-1, EPISODES).mean(axis=1)


def train(seed: int) -> NDArray[np.float64]:
    """Return the weights of one policy."""
    rng = np.random.default_rng(seed)
    mean, spread = np.zeros(SHAPE), np.full(SHAPE, FIRST_SPREAD)
    for _ in range(GENERATIONS):
        candidates = mean + spread * rng.normal(size=(CANDIDATES, *SHAPE))
        earned = mean_returns(candidates, int(rng.integers(2**31)))
        best = candidates[np.argsort(-earned, kind="stable")[:ELITE]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + LEAST_SPREAD
    return mean


def main() -> None:
    """Train all policies."""
    np.savez("weights.npz", weights=np.array([train(seed) for seed in range(POLICIES)]))
    print("wrote weights.npz; try `python evaluate.py`")


if __name__ == "__main__":
    main()
