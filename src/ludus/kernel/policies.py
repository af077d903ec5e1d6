"""Policies that run inside a compiled rollout.

A policy is ``policy(weights, observation, rng) -> action``, under the rules of kernels:
``observation`` is a tuple of numbers (an array, if the kernel writes one), ``weights`` consists of
numbers, arrays and tuples, ``rng`` is the policy's own generator.

Example:
    >>> envs = ludus.make_vec("CartPole-v1", 2)
    >>> _ = envs.reset(seed=0)
    >>> envs.unwrapped.rollout(policy=random_action, weights=2, steps=4).actions.shape
    (4, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.kernel.math import tanh
from ludus.kernel.random import integers

__all__ = ["greedy_mlp", "mlp_weights", "random_action"]


def random_action(weights: int, observation: Any, rng: Any) -> int:
    """Choose one of ``weights`` actions uniformly."""
    return integers(rng, 0, weights)


def greedy_mlp(weights: Any, observation: Any, rng: Any) -> int:
    """Choose the action with the highest output of a network with one hidden tanh layer."""
    w1, b1, w2, b2 = weights
    best = 0
    highest = 0.0
    for action in range(b2.shape[0]):
        value = b2[action]
        for unit in range(b1.shape[0]):
            total = b1[unit]
            for k in range(len(observation)):
                total += w1[k, unit] * observation[k]
            value += w2[unit, action] * tanh(total)
        if action == 0 or value > highest:
            best = action
            highest = value
    return best


def mlp_weights(inputs: int, hidden: int, actions: int, seed: int = 0) -> tuple[Any, ...]:
    """Return random weights for :func:`greedy_mlp`."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(0.0, inputs**-0.5, (inputs, hidden)),
        np.zeros(hidden),
        rng.normal(0.0, hidden**-0.5, (hidden, actions)),
        np.zeros(actions),
    )
