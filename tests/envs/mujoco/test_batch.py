"""The engine's batches: what is done without the engine's threads equals what these do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ludus
from ludus.envs.mujoco.batch import Batch
from tests.envs.mujoco.support import ONE_OF_EACH_MODEL, robot

N = 12


def _disturbed(env: Any, threads: int) -> Batch:
    """Return a batch whose simulations were stepped with random controls."""
    batch = Batch(env.model, N, threads, forces="cfrc_ext" in env.reads)
    for name in env.reads:
        batch.field(name)
    rng = np.random.default_rng(0)
    for _ in range(5):
        batch.field("ctrl")[...] = rng.uniform(-1.0, 1.0, (N, env.model.nu))
        batch.step(None, env.frame_skip)
    return batch


@pytest.mark.parametrize("name", ONE_OF_EACH_MODEL)
def test_a_reset_writes_what_the_engine_writes(name: str) -> None:
    env = robot(name)
    ours, its = _disturbed(env, 1), _disturbed(env, 1)
    rows = np.array([1, 2, 5])
    for batch in (ours, its):
        batch._warnings[...] = 3
    ours.reset(rows)
    at, count = its._chosen(rows)
    assert its._library.reset(its._batch, at, count, None, 0) == 0
    np.testing.assert_array_equal(ours.state, its.state)
    np.testing.assert_array_equal(ours._warnings, its._warnings)
    assert not ours._warnings[rows].any()


@pytest.mark.parametrize("name", ONE_OF_EACH_MODEL)
def test_few_simulations_are_computed_like_many(name: str) -> None:
    env = robot(name)
    few, many = _disturbed(env, 2), _disturbed(env, 2)
    few._few, many._few = N, 0
    rows = np.arange(0, N, 2)
    for batch in (few, many):
        batch.reset(rows)
        batch.field("qvel")[rows] = 0.125
        batch.forward(rows)
    np.testing.assert_array_equal(few.state, many.state)
    for field in env.reads:
        np.testing.assert_array_equal(few._fields[field], many._fields[field])


def test_infos_and_rewards_are_copies() -> None:
    with ludus.make_vec("Reacher-v5", 3) as envs:
        envs.reset(seed=0)
        results = envs.step(np.full((3, 2), 0.5))
        before = [np.array(part) for part in (*results[:4], *results[4].values())]
        envs.step(np.full((3, 2), -0.5))
        after = [*results[:4], *results[4].values()]
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)


def test_there_is_nothing_to_compile() -> None:
    for compile in ("wait", "background", "never"):
        with ludus.make_vec("Hopper-v5", 2, compile=compile) as envs:
            assert envs.reset(seed=0)[0].shape == (2, 11)
