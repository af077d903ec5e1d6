from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludus
import ludus.classic as gym
from ludus.classic import error
from ludus.classic.from_ludus import FromLudus
from tests.classic.old_envs import Counter


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    before = dict(ludus.registry)
    yield
    ludus.registry.clear()
    ludus.registry.update(before)


def test_gyms_own_numbers() -> None:
    env = gym.make("CartPole-v1")
    assert env.seed(0) == [0]
    np.testing.assert_allclose(
        env.reset(), [-0.04456399, 0.04653909, 0.01326909, -0.02099827], atol=1e-8
    )
    env.seed(1)
    np.testing.assert_allclose(
        env.reset(), [0.03073904, 0.00145001, -0.03088818, -0.03131252], atol=1e-8
    )


def test_reset_goes_on_with_the_stream() -> None:
    env = gym.make("CartPole-v1")
    env.seed(0)
    first, second = env.reset(), env.reset()
    assert (first != second).any()
    env.seed(0)
    np.testing.assert_array_equal(env.reset(), first)
    assert len(env.seed()) == 1


def test_a_ludus_environment_has_the_classic_shape() -> None:
    env = gym.make("CartPole-v1")
    assert isinstance(env, gym.wrappers.TimeLimit)
    assert isinstance(env.unwrapped, FromLudus)
    assert env.metadata["render.modes"] == ["human", "rgb_array"]
    assert env.metadata["video.frames_per_second"] == 50
    assert env.reward_range == (-np.inf, np.inf)
    assert env.spec.id == "CartPole-v1"
    env.seed(0)
    env.reset()
    observation, reward, done, info = env.step(env.action_space.sample())
    assert observation in env.observation_space
    assert (type(reward), type(done), info) == (float, bool, {})
    assert env.unwrapped.params.gravity == 9.8
    env.unwrapped.steps_beyond_terminated = 7
    assert env.unwrapped.ludus_env.steps_beyond_terminated == 7


def test_render_takes_the_mode_and_steps_do_not_show() -> None:
    with gym.make("CartPole-v1") as env:
        env.reset()
        assert env.render(mode="rgb_array").shape == (400, 600, 3)
        assert env.unwrapped.ludus_env.render_mode is None
        env.step(0)
        with pytest.raises(error.UnsupportedMode, match="ansi"):
            env.render(mode="ansi")
        env.render(close=True)


def test_time_limit_key_only_at_the_limit() -> None:
    gym.register("classic_test/Counter-v0", entry_point=Counter, max_episode_steps=3)
    env = gym.make("classic_test/Counter-v0", length=9)
    env.reset()
    assert [env.step(0)[2:] for _ in range(3)] == [
        (False, {"count": 1}),
        (False, {"count": 2}),
        (True, {"count": 3, "TimeLimit.truncated": True}),
    ]
    env = gym.make("classic_test/Counter-v0", length=3)
    env.reset()
    assert [env.step(0)[3] for _ in range(3)][-1]["TimeLimit.truncated"] is False
    env = gym.make("classic_test/Counter-v0", length=2)
    env.reset()
    assert env.step(0)[2:] == (False, {"count": 1})
    assert env.step(0)[2:] == (True, {"count": 2})


def test_steps_need_a_reset() -> None:
    gym.register("classic_test/Free-v0", entry_point=Counter)
    for env in (gym.make("CartPole-v1"), gym.make("classic_test/Free-v0")):
        with pytest.raises(AssertionError, match="reset"):
            env.step(0)
        with pytest.raises(error.ResetNeeded):
            env.step(0)
    assert isinstance(gym.make("classic_test/Free-v0"), gym.wrappers.OrderEnforcing)
    gym.register("classic_test/Loose-v0", entry_point=Counter, order_enforce=False)
    assert isinstance(gym.make("classic_test/Loose-v0"), Counter)


def test_seconds_limit() -> None:
    gym.register("classic_test/Slow-v0", entry_point=Counter, max_episode_seconds=0.0)
    env = gym.make("classic_test/Slow-v0")
    env.reset()
    assert env.step(0)[2:] == (True, {"count": 1, "TimeLimit.truncated": True})


def test_first_versions_registrations() -> None:
    tag = "wrapper_config.TimeLimit.max_episode_steps"
    gym.register("classic_test/A-v0", entry_point=Counter, tags={tag: 4})
    gym.register("classic_test/B-v0", entry_point=Counter, timestep_limit=6, trials=7)
    gym.register("classic_test/C-v0", entry_point=Counter, tags={"vnc": True}, max_episode_steps=2)
    spec = gym.spec("classic_test/A-v0")
    assert (spec.max_episode_steps, spec.timestep_limit, spec.tags) == (4, 4, {tag: 4})
    assert (
        gym.spec("classic_test/B-v0").max_episode_steps,
        gym.spec("classic_test/B-v0").trials,
    ) == (6, 7)
    assert isinstance(gym.make("classic_test/C-v0"), Counter)


def test_arguments_override_the_registered_ones_and_show_in_the_spec() -> None:
    gym.register("classic_test/Args-v0", entry_point=Counter, kwargs={"length": 8})
    assert gym.make("classic_test/Args-v0").length == 8
    env = gym.make("classic_test/Args-v0", length=3)
    assert env.length == 3
    assert env.spec.kwargs == {"length": 3}
    assert gym.spec("classic_test/Args-v0").kwargs == {"length": 8}
    assert gym.spec("classic_test/Args-v0").make(length=2).length == 2
    with pytest.raises(TypeError, match="nonsense"):
        gym.make("classic_test/Args-v0", nonsense=1)


@pytest.mark.parametrize("id", ["CartPole", "Cart Pole-v0", "a/b/CartPole-v1", "CartPole-vX", ""])
def test_malformed_ids(id: str) -> None:
    for call in (gym.make, gym.spec, lambda x: gym.register(x, entry_point=Counter)):
        with pytest.raises(error.Error, match="malformed"):
            call(id)


def test_lookup_failures() -> None:
    for version in (99, 0):
        gym.register("classic_test/Known-v5", entry_point=Counter) if version == 99 else None
        with pytest.raises(error.DeprecatedEnv):
            gym.make(f"classic_test/Known-v{version}")
    with pytest.raises(error.UnregisteredEnv):
        gym.make("NoSuchThing-v0")
    with pytest.raises(error.Unregistered):
        gym.spec("no_namespace/NoSuchThing-v0")


def test_registering_twice_warns_and_without_entry_point_fails() -> None:
    gym.register("classic_test/Twice-v0", entry_point=Counter)
    with pytest.warns(UserWarning, match="Overriding"):
        gym.register("classic_test/Twice-v0", entry_point=Counter, kwargs={"length": 2})
    assert gym.make("classic_test/Twice-v0").length == 2
    with pytest.raises(error.Error, match="entry point"):
        gym.register("classic_test/None-v0")


def test_a_module_before_the_colon_is_imported() -> None:
    env = gym.make("ludus.envs:CartPole-v1")
    assert env.spec.id == "CartPole-v1"
    with pytest.raises(ModuleNotFoundError):
        gym.make("no_such_module_anywhere:CartPole-v1")


def test_the_registry_object() -> None:
    registry = gym.envs.registry
    assert "CartPole-v1" in registry
    assert len(registry) == len(registry.all()) == len(list(registry))
    assert registry.env_specs["CartPole-v1"].reward_threshold == 475.0
    assert registry.spec("CartPole-v1").id == "CartPole-v1"
    registry.register("classic_test/Reg-v0", entry_point=Counter)
    assert isinstance(registry.make("classic_test/Reg-v0").unwrapped, Counter)
    assert gym.envs.registration.registry is registry


def test_ludus_makes_what_was_registered_here() -> None:
    class Shared(Counter):
        pass

    gym.register("classic_test/Shared-v0", entry_point=Shared, max_episode_steps=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env: Any = ludus.make("classic_test/Shared-v0", length=9)
    assert any("Shared is written for the classic API" in str(w.message) for w in caught)
    first, info = env.reset(seed=0)
    assert info == {}
    assert first[1] == pytest.approx(0.05436006)
    steps = [env.step(1) for _ in range(3)]
    assert [step[2:4] for step in steps] == [(False, False), (False, False), (False, True)]


def test_additional_wrappers_of_a_ludus_spec_are_applied() -> None:
    spec = ludus.wrappers.ClipReward.wrapper_spec(min_reward=0.0, max_reward=0.5)
    ludus.register(
        "classic_test/Clipped-v0",
        entry_point="ludus.envs.classic_control.cartpole:CartPoleEnv",
        additional_wrappers=(spec,),
    )
    env = gym.make("classic_test/Clipped-v0")
    env.reset()
    assert env.step(0)[1] == 0.5
