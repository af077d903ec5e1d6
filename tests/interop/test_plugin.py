from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.interop.gymnasium import register_in_gymnasium
from ludus.interop.gymnasium.adapter import AsGymnasium
from ludus.interop.gymnasium.vector_adapter import AsGymnasiumVector
from ludus.registration.discovery import load_own
from ludus.research.task.bundled import bundled_env_ids
from tests.interop.programs import check_program
from tests.reference.twins import assert_same


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(gymnasium.registry)
    register_in_gymnasium()
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def test_every_ludus_id_can_be_made_by_gymnasium() -> None:
    made_by_ludus = {
        spec.kwargs["ludus_id"] for spec in gymnasium.registry.values() if "ludus_id" in spec.kwargs
    }
    assert made_by_ludus == {*ludus.registry, *bundled_env_ids()}


def test_names_of_other_packages_are_left_to_them() -> None:
    for id, name in [
        ("CartPole-v1", "ludus/CartPole-v1"),
        ("Maze/Empty-5x5-v0", "Maze/Empty-5x5-v0"),
        ("MinAtar/Breakout-v1", "ludus/MinAtar-Breakout-v1"),
        ("ALE/Pong-v5", "ludus/ALE-Pong-v5"),
    ]:
        assert gymnasium.registry[name].kwargs["ludus_id"] == id
    assert gymnasium.make("ludus/MinAtar-Breakout-v1").reset(seed=0)[0].shape == (10, 10, 4)


ATARI = """
import warnings
warnings.simplefilter("error")
import {first}
import {second}
import gymnasium, ludus.gymnasium
assert gymnasium.spec("ALE/Pong-v5").entry_point == "ale_py.env:AtariEnv"
theirs = gymnasium.make("ALE/Pong-v5")
ours = gymnasium.make("ludus/ALE-Pong-v5")
assert (theirs.reset(seed=3)[0] == ours.reset(seed=3)[0]).all()
print(type(theirs.unwrapped).__module__, type(ours.unwrapped.ludus_env).__module__)
"""


@pytest.mark.parametrize(("first", "second"), [("ludus", "ale_py"), ("ale_py", "ludus")])
def test_ale_py_keeps_its_ids_in_either_order(first: str, second: str, tmp_path: Path) -> None:
    code = ATARI.format(first=first, second=second)
    assert check_program(code, tmp_path, aliased=False) == "ale_py.env ludus.envs.atari.env\n"


def test_the_environment_is_ludus_inside_gymnasiums_wrappers() -> None:
    env = gymnasium.make("ludus/CartPole-v1")
    assert isinstance(env, gymnasium.wrappers.TimeLimit)
    assert isinstance(env.unwrapped, AsGymnasium)
    assert type(env.unwrapped.ludus_env).__name__ == "CartPoleEnv"
    assert env.spec is not None
    assert env.spec.max_episode_steps == 500
    assert env.spec.reward_threshold == 475.0
    theirs = gymnasium.make("CartPole-v1")
    assert_same(env.reset(seed=7), theirs.reset(seed=7))
    for action in (0, 1, 1, 0):
        assert_same(env.step(action), theirs.step(action))


def test_arguments_and_limits_come_through() -> None:
    env = gymnasium.make(
        "ludus/CartPole-v1", max_episode_steps=3, sutton_barto_reward=True, render_mode="rgb_array"
    )
    env.reset(seed=0)
    steps = [env.step(i % 2) for i in range(3)]
    assert [step[3] for step in steps] == [False, False, True]
    assert steps[0][1] == 0.0
    assert env.render_mode == "rgb_array"
    assert env.render().shape == (400, 600, 3)
    env.close()


def test_the_spec_is_plain_data() -> None:
    spec = gymnasium.make("ludus/CartPole-v1").spec
    assert spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert isinstance(again.unwrapped, AsGymnasium)


@pytest.mark.parametrize("mode", [None, "vector_entry_point", "sync"])
def test_make_vec(mode: str | None) -> None:
    envs = gymnasium.make_vec("ludus/CartPole-v1", num_envs=3, vectorization_mode=mode)
    assert isinstance(envs, AsGymnasiumVector) == (mode != "sync")
    theirs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")
    assert_same(envs.reset(seed=2)[0], theirs.reset(seed=2)[0])
    for _ in range(40):
        actions = np.array([0, 1, 0])
        for ours, other in zip(envs.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            np.testing.assert_allclose(ours, other, rtol=1e-5)


def test_registering_again_adds_only_what_is_new() -> None:
    spec = gymnasium.registry["ludus/CartPole-v1"]
    ludus.register(
        "interop_test/New-v0", entry_point="ludus.envs.classic_control.cartpole:CartPoleEnv"
    )
    try:
        register_in_gymnasium()
        assert gymnasium.registry["ludus/CartPole-v1"] is spec
        assert isinstance(gymnasium.make("interop_test/New-v0").unwrapped, AsGymnasium)
    finally:
        del ludus.registry["interop_test/New-v0"]


def test_a_module_in_the_id_registers(tmp_path: Path) -> None:
    code = """
import gymnasium
env = gymnasium.make("ludus.gymnasium:ludus/CartPole-v1")
print(type(env.unwrapped).__name__)
"""
    assert check_program(code, tmp_path, aliased=False) == "AsGymnasium\n"


def test_research_tasks_are_made_by_gymnasium() -> None:
    names = {env_id for env_id in gymnasium.registry if env_id.startswith("mlgym/")}
    load_own(everything=True)
    bundled = {
        env_id
        for env_id, spec in ludus.registry.items()
        if spec.namespace == "mlgym" and spec.security.trust == "builtin"
    }
    assert names == bundled == set(bundled_env_ids())
    with gymnasium.make("mlgym/battleOfSexes-v0") as env:
        assert isinstance(env.unwrapped, AsGymnasium)
        env.action_space.seed(0)
        assert env.action_space.contains(env.action_space.sample())
        assert "ls" in env.action_space
        observation, _ = env.reset(seed=0)
        assert observation["task"].startswith("Two players")
        observation, reward, terminated, truncated, _ = env.step("ls")
        assert "strategy.py" in observation["output"]
        assert (float(reward), terminated, truncated) == (0.0, False, False)


IMPORTED = """
import importlib.util, sys
finders, hooks = list(sys.meta_path), list(sys.path_hooks)
{first}
import ludus
assert (sys.meta_path, sys.path_hooks) == (finders, hooks)
assert ("gymnasium" in sys.modules) == bool({first!r})
import gymnasium
assert not any(name.startswith("ludus/") for name in gymnasium.registry)
assert gymnasium.Wrapper.__init__.__module__ == "gymnasium.core"
import ludus.gymnasium
assert gymnasium.make("ludus/CartPole-v1").reset(seed=0)
assert gymnasium.wrappers.TimeLimit(ludus.make("CartPole-v1"), 3).reset(seed=0)
"""


@pytest.mark.parametrize("first", ["", "import gymnasium"])
def test_importing_ludus_changes_nothing_elsewhere(first: str, tmp_path: Path) -> None:
    check_program(IMPORTED.format(first=first), tmp_path, aliased=False)


ASKED = """
import importlib.util, sys
import ludus
for _ in range(2):
    assert importlib.util.find_spec("gymnasium").name == "gymnasium"
import gymnasium, ludus.gymnasium
assert "ludus/CartPole-v1" in gymnasium.registry
assert importlib.util.find_spec("gymnasium") is gymnasium.__spec__
assert gymnasium.make("ludus/CartPole-v1").reset(seed=0)
"""


@pytest.mark.parametrize("aliased", [False, True])
def test_asking_for_gymnasium_breaks_nothing(aliased: bool, tmp_path: Path) -> None:
    check_program(ASKED, tmp_path, aliased=aliased)
