from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.interop.gymnasium import (
    from_gymnasium,
    from_gymnasium_vector,
    to_gymnasium,
    to_gymnasium_vector,
)
from ludus.interop.gymnasium.vector_adapter import to_autoreset_mode
from tests.reference.twins import assert_same, twin_env

DIRECTIONS = pytest.mark.parametrize(
    ("adapt", "source", "target"),
    [(to_gymnasium_vector, ludus, gymnasium), (from_gymnasium_vector, gymnasium, ludus)],
    ids=["to_gymnasium", "from_gymnasium"],
)


def vector(library: Any, mode: str = "NextStep", observation: str = "dict") -> Any:
    builders = [lambda: twin_env(library, observation)] * 3
    return library.vector.SyncVectorEnv(builders, autoreset_mode=mode)


def trajectory(env: Any, actions: np.ndarray) -> list[Any]:
    steps = [env.reset(seed=5)]
    for action in actions:
        steps.append(env.step(action))
        finished = steps[-1][2] | steps[-1][3]
        if env.metadata["autoreset_mode"].value == "Disabled" and finished.any():
            steps.append(env.reset(options={"reset_mask": finished}))
    return steps


@DIRECTIONS
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_the_adapted_vector_does_the_same(adapt: Any, source: Any, target: Any, mode: str) -> None:
    adapted, plain = adapt(vector(source, mode)), vector(target, mode)
    assert isinstance(adapted, target.vector.VectorEnv)
    for name in (
        "observation_space",
        "action_space",
        "single_observation_space",
        "single_action_space",
        "num_envs",
        "render_mode",
    ):
        assert getattr(adapted, name) == getattr(plain, name), name
    assert adapted.metadata["autoreset_mode"] is target.vector.AutoresetMode(mode)
    actions = np.random.default_rng(0).integers(4, size=(40, 3))
    assert_same(trajectory(adapted, actions), trajectory(plain, actions))


@DIRECTIONS
def test_adapting_back_unwraps(adapt: Any, source: Any, target: Any) -> None:
    back = from_gymnasium_vector if adapt is to_gymnasium_vector else to_gymnasium_vector
    env = vector(source)
    assert back(adapt(env)) is env
    native = vector(target)
    assert adapt(native) is native
    with pytest.raises(TypeError, match="takes a"):
        adapt(twin_env(source))


@DIRECTIONS
def test_calls_and_attributes_reach_the_environments(adapt: Any, source: Any, target: Any) -> None:
    env = adapt(vector(source))
    env.reset(seed=0)
    env.set_attr("total", [1.0, 2.0, 3.0])
    assert env.get_attr("total") == (1.0, 2.0, 3.0)
    assert env.call("get_wrapper_attr", "steps") == (0, 0, 0)
    assert env.unwrapped is env


@DIRECTIONS
def test_close(adapt: Any, source: Any, target: Any) -> None:
    inner = vector(source)
    env = adapt(inner)
    assert not env.closed
    env.close()
    assert env.closed
    assert inner.closed


@DIRECTIONS
def test_wrappers_of_the_other_library_apply(adapt: Any, source: Any, target: Any) -> None:
    env = target.wrappers.vector.RecordEpisodeStatistics(adapt(vector(source)))
    env.reset(seed=1)
    infos = [env.step(np.zeros(3, dtype=np.int64))[4] for _ in range(40)]
    assert any("episode" in info for info in infos)


def test_errors_of_the_asynchronous_calls_are_translated() -> None:
    inner = ludus.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
    env = to_gymnasium_vector(inner)
    try:
        env.reset(seed=0)
        env.step_async(np.array([0, 1]))
        with pytest.raises(gymnasium.error.AlreadyPendingCallError) as caught:
            env.reset()
        assert caught.value.name == "step"
        env.step_wait()
    finally:
        env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()


@DIRECTIONS
def test_spec_builds_again(adapt: Any, source: Any, target: Any) -> None:
    env = adapt(source.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"))
    assert env.spec.id == "CartPole-v1"
    assert isinstance(env.spec, type(target.spec("CartPole-v1")))


def test_autoreset_modes_convert_by_value() -> None:
    for mode in ludus.vector.AutoresetMode:
        theirs = to_autoreset_mode(mode, gymnasium.vector.AutoresetMode)
        assert theirs is gymnasium.vector.AutoresetMode[mode.name]
        assert to_autoreset_mode(theirs) is mode
    assert to_autoreset_mode("sync") == "sync"


@DIRECTIONS
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_the_mode_is_a_member_of_the_own_enum(
    adapt: Any, source: Any, target: Any, mode: str
) -> None:
    assert adapt(vector(source, mode)).autoreset_mode is target.vector.AutoresetMode(mode)


def test_the_mode_of_a_compiled_batch() -> None:
    adapted = to_gymnasium_vector(ludus.make_vec("CartPole-v1", 2, autoreset_mode="SameStep"))
    assert adapted.autoreset_mode is gymnasium.vector.AutoresetMode.SAME_STEP


def test_an_environment_without_a_mode_has_no_such_attribute() -> None:
    class Bare(ludus.vector.VectorEnv):
        num_envs = 1
        observation_space = action_space = ludus.spaces.MultiDiscrete([2])
        single_observation_space = single_action_space = ludus.spaces.Discrete(2)

    with pytest.raises(AttributeError, match="autoreset_mode"):
        to_gymnasium_vector(Bare()).autoreset_mode  # noqa: B018


@DIRECTIONS
def test_the_functions_for_one_environment_take_a_batch(
    adapt: Any, source: Any, target: Any
) -> None:
    single = to_gymnasium if adapt is to_gymnasium_vector else from_gymnasium
    env = vector(source)
    adapted = single(env)
    assert type(adapted) is type(adapt(env))
    assert isinstance(adapted, target.vector.VectorEnv)
    native = vector(target)
    assert single(native) is native
    with pytest.raises(TypeError, match=rf"{single.__name__}\(\) takes a single environment"):
        adapt(source.make("CartPole-v1"))
