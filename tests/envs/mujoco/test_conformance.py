"""Every MuJoCo robot keeps the contract, alone and in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ludus
from ludus.core.env import Env
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.testing import EnvConformance, VectorEnvConformance
from tests.envs.mujoco.support import ONE_OF_EACH_MODEL, PLAYABLE, RETIRED, robot, why_no_picture

DRAWN = ("InvertedPendulum-v4", "Reacher-v5")
KNOWN = ("infinite-bounds", "action-not-normalized")


@pytest.fixture(autouse=True)
def _no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def suite(name: str) -> type[EnvConformance]:
    """Return the conformance tests of one id."""

    class Suite(EnvConformance):
        seeds = (1,)
        steps = 12
        suppress = (*EnvConformance.suppress, *KNOWN)

        def make(self, **kwargs: Any) -> Env[Any, Any]:
            env = robot(name, width=24, height=24, **kwargs)
            if name not in DRAWN or why_no_picture():
                # Where there is no graphics card, pictures take most of the time of all tests.
                env.metadata = {**env.metadata, "render_modes": []}
            return env

    return Suite


def batch_suite(name: str) -> type[VectorEnvConformance]:
    """Return the tests that a batch of one id equals single robots, to the last bit."""

    class Suite(VectorEnvConformance):
        num_envs = 2
        steps = 8

        def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> VectorEnv[Any, Any, Any]:
            return ludus.make_vec(
                name, num_envs, autoreset_mode=autoreset_mode, max_episode_steps=4, num_threads=2
            )

        def make_single(self) -> Env[Any, Any]:
            return ludus.make(name, max_episode_steps=4, disable_env_checker=True)

    return Suite


for _name in ONE_OF_EACH_MODEL:
    globals()[f"Test{_name.replace('-', '')}"] = suite(_name)
    globals()[f"Test{_name.replace('-', '')}Batch"] = batch_suite(_name)


@pytest.mark.parametrize("name", ONE_OF_EACH_MODEL)
def test_fall_ends_the_episode_of_one_robot_only(name: str) -> None:
    """Long enough for robots to fall; the batch goes on as single robots do."""
    count, steps = 3, 60 if name.startswith("Humanoid") else 90
    singles = [ludus.make(name, disable_env_checker=True) for _ in range(count)]
    with ludus.make_vec(name, count, autoreset_mode="SameStep") as envs:
        envs.action_space.seed(5)
        seen, _ = envs.reset(seed=7)
        expected = np.array([env.reset(seed=7 + i)[0] for i, env in enumerate(singles)])
        np.testing.assert_array_equal(seen, expected)
        for _ in range(steps):
            actions = envs.action_space.sample()
            seen, rewards, ended, cut, _ = envs.step(actions)
            for i, env in enumerate(singles):
                observation, reward, terminated, truncated, _ = env.step(actions[i])
                assert (rewards[i], ended[i], cut[i]) == (reward, terminated, truncated)
                if terminated or truncated:
                    observation, _ = env.reset()
                np.testing.assert_array_equal(seen[i], observation)


@pytest.mark.parametrize("name", RETIRED)
def test_retired_ids_say_what_to_use(name: str) -> None:
    with pytest.raises(ImportError, match=rf"use {name.partition('-')[0]}-v5"):
        RETIRED[name].make()


def test_every_id_has_a_description_and_tags() -> None:
    for spec in (*PLAYABLE.values(), *RETIRED.values()):
        assert spec.description.endswith(".")
        assert "mujoco" in spec.tags
        assert (spec.vector_entry_point is None) == (spec.id in RETIRED)
