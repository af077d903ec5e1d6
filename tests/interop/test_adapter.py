from __future__ import annotations

import copy
import pickle
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import StateError
from ludus.interop.gymnasium import from_gymnasium, to_gymnasium
from ludus.interop.gymnasium.adapter import AsGymnasium, AsLudus
from tests.reference.twins import ACTION_KINDS, OBSERVATION_KINDS, assert_same, twin_env

PAIRS = [(to_gymnasium, ludus, gymnasium), (from_gymnasium, gymnasium, ludus)]
DIRECTIONS = pytest.mark.parametrize(
    ("adapt", "source", "target"), PAIRS, ids=["to_gymnasium", "from_gymnasium"]
)


def trajectory(env: Any, actions: list[Any], seed: int = 4) -> list[Any]:
    steps = [env.reset(seed=seed)]
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            steps.append(env.reset())
    return steps


@DIRECTIONS
@pytest.mark.parametrize("observation", OBSERVATION_KINDS)
@pytest.mark.parametrize("action", ACTION_KINDS)
def test_the_adapted_environment_does_the_same(
    adapt: Any, source: Any, target: Any, observation: str, action: str
) -> None:
    adapted = adapt(twin_env(source, observation, action))
    plain = twin_env(target, observation, action)
    assert isinstance(adapted, target.Env)
    assert adapted.observation_space == plain.observation_space
    assert adapted.action_space == plain.action_space
    plain.action_space.seed(1)
    actions = [plain.action_space.sample() for _ in range(30)]
    assert_same(trajectory(adapted, actions), trajectory(plain, actions))


@DIRECTIONS
def test_adapting_back_unwraps(adapt: Any, source: Any, target: Any) -> None:
    back = from_gymnasium if adapt is to_gymnasium else to_gymnasium
    env = twin_env(source)
    assert back(adapt(env)) is env
    native = twin_env(target)
    assert adapt(native) is native


@DIRECTIONS
def test_what_is_no_environment_is_refused(adapt: Any, source: Any, target: Any) -> None:
    with pytest.raises(TypeError, match="takes a"):
        adapt(object())


@DIRECTIONS
def test_metadata_render_mode_and_frames_come_through(adapt: Any, source: Any, target: Any) -> None:
    env = adapt(twin_env(source, render_mode="rgb_array"))
    assert env.metadata["render_fps"] == 20
    assert env.render_mode == "rgb_array"
    env.reset(seed=0)
    assert env.render().shape == (16, 20, 3)


@DIRECTIONS
def test_the_random_generator_is_shared(adapt: Any, source: Any, target: Any) -> None:
    inner = twin_env(source)
    env = adapt(inner)
    env.reset(seed=9)
    assert env.np_random is inner.np_random
    assert env.np_random_seed == 9
    assert env._np_random is inner._np_random
    generator = np.random.default_rng(1)
    env.np_random = generator
    assert inner.np_random is generator
    assert env.np_random_seed == -1


@DIRECTIONS
def test_attributes_are_read_and_written_inside(adapt: Any, source: Any, target: Any) -> None:
    inner = twin_env(source)
    inner.gravity = 9.8
    env = adapt(source.Wrapper(inner))
    assert env.unwrapped is env
    assert env.gravity == 9.8
    assert env.get_wrapper_attr("gravity") == 9.8
    assert env.has_wrapper_attr("gravity")
    assert not env.has_wrapper_attr("levity")
    env.unwrapped.gravity = 1.6
    assert inner.gravity == 1.6
    assert env.set_wrapper_attr("gravity", 3.7)
    assert inner.gravity == 3.7
    assert not env.set_wrapper_attr("levity", 1, force=False)
    assert not hasattr(env, "levity")
    env.mine = 1
    assert env.mine == 1
    assert not hasattr(inner, "mine")
    with pytest.raises(AttributeError, match="levity"):
        _ = env.levity


@DIRECTIONS
def test_a_wrapper_outside_reaches_attributes_inside(adapt: Any, source: Any, target: Any) -> None:
    inner = twin_env(source)
    env = target.Wrapper(adapt(source.Wrapper(inner)))
    assert env.get_wrapper_attr("total") == 0.0
    env.set_wrapper_attr("total", 5.0)
    assert inner.total == 5.0


@pytest.mark.parametrize("library", [pickle, cloudpickle])
def test_adapters_travel(library: Any) -> None:
    env = to_gymnasium(ludus.make("CartPole-v1"))
    env.reset(seed=3)
    env.step(1)
    twin = library.loads(library.dumps(env))
    assert isinstance(twin, AsGymnasium)
    assert_same(twin.step(0)[0], env.step(0)[0])
    other = from_gymnasium(gymnasium.make("CartPole-v1"))
    other.reset(seed=3)
    twin = library.loads(library.dumps(other))
    assert isinstance(twin, AsLudus)
    assert_same(twin.step(0)[0], other.step(0)[0])


def test_adapters_can_be_copied() -> None:
    env = to_gymnasium(twin_env(ludus))
    env.reset(seed=3)
    twin = copy.deepcopy(env)
    assert_same(twin.step(1), env.step(1))


@DIRECTIONS
def test_errors_leave_as_the_other_librarys(adapt: Any, source: Any, target: Any) -> None:
    inner = twin_env(source)
    env = adapt(source.wrappers.OrderEnforcing(inner))
    with pytest.raises(target.error.ResetNeeded, match="reset"):
        env.step(0)


def test_other_errors_pass_unchanged() -> None:
    env = to_gymnasium(ludus.make("CartPole-v1", disable_env_checker=True))
    with pytest.raises(TypeError):
        env.reset(nonsense=1)


@DIRECTIONS
def test_close_and_context_manager(adapt: Any, source: Any, target: Any) -> None:
    inner = twin_env(source)
    closed = []
    inner.close = lambda: closed.append(True)
    with adapt(inner):
        pass
    assert closed == [True]


@DIRECTIONS
def test_spec_can_be_rebuilt(adapt: Any, source: Any, target: Any) -> None:
    env = adapt(source.make("CartPole-v1", max_episode_steps=7))
    assert env.spec.id == "CartPole-v1"
    assert isinstance(env.spec, type(target.spec("CartPole-v1")))
    again = target.make(env.spec, max_episode_steps=7)
    assert isinstance(again, target.Env)
    assert_same(
        trajectory(again, [0, 1] * 8),
        trajectory(target.make("CartPole-v1", max_episode_steps=7), [0, 1] * 8),
    )


@DIRECTIONS
def test_recorded_wrappers_are_rebuilt_in_their_own_library(
    adapt: Any, source: Any, target: Any
) -> None:
    env = adapt(source.wrappers.TransformReward(source.make("CartPole-v1"), _tripled))
    again = target.make(env.spec)
    again.reset(seed=1)
    assert again.step(0)[1] == 3.0


def _tripled(reward: float) -> float:
    return 3 * reward


def test_an_assigned_spec_stays() -> None:
    env = to_gymnasium(twin_env(ludus))
    assert env.spec is None
    spec = gymnasium.spec("CartPole-v1")
    env.unwrapped.spec = spec
    assert env.spec is spec


def test_state_of_a_gymnasium_environment_cannot_be_saved() -> None:
    with pytest.raises(StateError):
        from_gymnasium(twin_env(gymnasium)).get_state()


def test_gymnasiums_checker_accepts_the_adapter() -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(to_gymnasium(twin_env(ludus, "image")), skip_render_check=True)


def test_ludus_checker_accepts_the_adapter() -> None:
    from ludus.utils.env_checker import check_env

    check_env(from_gymnasium(twin_env(gymnasium, "image")), skip_render_check=True)
