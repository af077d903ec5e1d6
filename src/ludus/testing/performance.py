"""Benchmarks of environments: constructions, steps and frames per second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.core.env import Env
from ludus.core.vector_env import AutoresetMode, VectorEnv

__all__ = ["benchmark_init", "benchmark_render", "benchmark_step", "benchmark_vector_step"]


def benchmark_step(
    env: Env[Any, Any], target_duration: float = 5, seed: int | None = None
) -> float:
    """Return the steps per second with random actions, resets included.

    Args:
        env: The environment; it stays open.
        target_duration: Seconds to measure for; the last step may exceed it.
        seed: Seeds the first reset and the actions.
    """
    sample = env.action_space.sample
    if seed is not None:
        env.action_space.seed(seed)
    env.reset(seed=seed)
    sample()  # the first sample of a space creates its generator

    def step() -> int:
        _, _, terminated, truncated, _ = env.step(sample())
        if terminated or truncated:
            env.reset()
        return 1

    return _rate(step, target_duration)


def benchmark_vector_step(
    env: VectorEnv[Any, Any, Any], target_duration: float = 5, seed: int | None = None
) -> float:
    """Return the steps per second, summed over the environments, with random actions.

    The first step, which may compile code, is not measured. Calls that only reset an environment
    are not counted.

    Args:
        env: The vector environment; it stays open.
        target_duration: Seconds to measure for; the last step may exceed it.
        seed: Seeds the first reset and the actions.
    """
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    sample = env.action_space.sample
    env.action_space.seed(seed)
    env.reset(seed=seed)
    env.step(sample())
    env.reset(seed=seed)
    resetting = 0

    def step() -> int:
        nonlocal resetting
        _, _, terminated, truncated, _ = env.step(sample())
        stepped = env.num_envs - resetting
        if mode is not AutoresetMode.SAME_STEP:
            done = np.logical_or(terminated, truncated)
            if mode is AutoresetMode.NEXT_STEP:
                resetting = int(np.count_nonzero(done))
            elif done.any():
                env.reset(options={"reset_mask": done})
        return stepped

    return _rate(step, target_duration)


def benchmark_init(
    env_lambda: Callable[[], Env[Any, Any]], target_duration: float = 5, seed: int | None = None
) -> float:
    """Return how many environments per second are built, reset and closed.

    Args:
        env_lambda: Builds an environment.
        target_duration: Seconds to measure for; the last construction may exceed it.
        seed: Seeds each reset.
    """

    def build() -> int:
        env = env_lambda()
        env.reset(seed=seed)
        env.close()
        return 1

    return _rate(build, target_duration)


def benchmark_render(env: Env[Any, Any], target_duration: float = 5) -> float:
    """Return the frames per second.

    Args:
        env: The environment, reset, in a render mode other than human; it stays open.
        target_duration: Seconds to measure for; the last frame may exceed it.
    """

    def render() -> int:
        env.render()
        return 1

    return _rate(render, target_duration)


def _rate(work: Callable[[], int], seconds: float) -> float:
    count = 0
    start = time.time()
    while True:
        count += work()
        elapsed = time.time() - start
        if elapsed > seconds:
            return count / elapsed
