"""Unusual but right kernels run in all four executions, with equal results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.right_kernels import RIGHT_ROWS, module_text
from tests.kernel.written import import_module

ACTIONS = np.random.default_rng(3).integers(0, 3, 12)
ACTIONS[0] = 2


@pytest.fixture(scope="module")
def env_class(tmp_path_factory):
    folder = tmp_path_factory.mktemp("right")
    (folder / "right_kernel.py").write_text(module_text())
    return import_module(folder, "right_kernel").RightEnv


def single(env_class):
    env = env_class()
    env.reset(seed=7)
    seen = []
    for action in ACTIONS:
        observation, reward, terminated, _, _ = env.step(int(action))
        seen.append([*observation, reward, terminated])
        if terminated:
            env.reset()
    return np.array(seen)


def batch(env_class):
    envs = env_class.vector(2, autoreset_mode="SameStep")
    envs.reset(seed=7)
    seen = []
    for action in ACTIONS:
        observations, rewards, ended, _, infos = envs.step(np.array([action, 0]))
        shown = infos["final_obs"][0] if ended[0] else observations[0]
        seen.append([*shown, rewards[0], ended[0]])
    return np.array(seen)


def rollout(env_class):
    envs = env_class.vector(2, autoreset_mode="SameStep")
    envs.reset(seed=7)
    played = envs.rollout(np.stack([ACTIONS, np.zeros_like(ACTIONS)], axis=1))
    flags = played.terminations[:, :1]
    return np.concatenate([played.observations[:, 0], played.rewards[:, :1], flags], axis=1)


@pytest.fixture(scope="module")
def results(env_class):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUDUS_JIT", "0")
        plain = single(env_class)
    return {
        "plain": plain,
        "single": single(env_class),
        "batch": batch(env_class),
        "rollout": rollout(env_class),
    }


def test_the_table_is_large_enough():
    assert len(RIGHT_ROWS) >= 15


@pytest.mark.parametrize(
    ("column", "row"), enumerate(RIGHT_ROWS, 1), ids=[r.id for r in RIGHT_ROWS]
)
def test_a_right_kernel(results, column, row):
    plain = results["plain"][:, column]
    assert plain[0] == row.first
    for name in ("single", "batch"):
        np.testing.assert_array_equal(results[name][:, column], plain, err_msg=name)
    # Observations of a rollout are those after a reset, so what ends an episode is left out.
    going_on = results["rollout"][:, -1] == 0.0
    np.testing.assert_array_equal(results["rollout"][going_on, column], plain[going_on])


def test_rewards_and_ends_are_the_same(results):
    for name in ("single", "batch", "rollout"):
        np.testing.assert_array_equal(results[name][:, -2:], results["plain"][:, -2:])
    assert results["plain"][:, -1].any()
