from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode, ObservationWrapper, RewardWrapper
from ludus.errors import InvalidBound
from ludus.spaces import Box, Discrete, Text, batch_space
from ludus.wrappers.transform_action import DiscretizeAction, TransformAction
from ludus.wrappers.transform_observation import TransformObservation
from ludus.wrappers.transform_reward import TransformReward
from ludus.wrappers.vector import (
    ClipAction,
    ClipReward,
    DtypeObservation,
    FilterObservation,
    FlattenObservation,
    RescaleAction,
    RescaleObservation,
    VectorizeTransformAction,
    VectorizeTransformObservation,
    VectorizeTransformReward,
)
from ludus.wrappers.vector.batch_transform import transform_batch
from tests.wrappers.vector.support import NOOP, Scripted, twins


def scripted_box(rewards: Any = (0.0, 0.0), steps: int = 1) -> Scripted:
    envs = Scripted([(np.array(rewards), [0, 0], {})] * steps)
    envs.single_action_space = Box(-1.0, 1.0, (2,), np.float32)
    envs.action_space = batch_space(envs.single_action_space, 2)
    return envs


@pytest.mark.parametrize(
    ("wrapper", "kwargs"),
    [
        (ClipAction, {}),
        (RescaleAction, {"min_action": -1, "max_action": 1}),
        (
            VectorizeTransformAction,
            {"wrapper": TransformAction, "func": np.negative, "action_space": None},
        ),
    ],
)
def test_the_callers_actions_stay_as_they_are(wrapper: Any, kwargs: Any) -> None:
    inner = scripted_box()
    actions = np.array([[5.0, 0.5], [-5.0, -0.25]], np.float32)
    kept = actions.copy()
    wrapper(inner, **kwargs).step(actions)
    assert (actions == kept).all()
    assert inner.taken[0] is not actions


def test_the_inner_observations_stay_as_they_are() -> None:
    inner = twins()
    inner.copy = False
    envs: Any = VectorizeTransformObservation(inner, TransformObservation, func=np.negative)
    first = envs.reset(seed=0)[0]
    assert (first == -inner._observations).all()


def test_clip_action() -> None:
    inner = scripted_box()
    envs: Any = ClipAction(inner)
    assert envs.single_action_space == Box(-np.inf, np.inf, (2,), np.float32)
    envs.step(np.array([[5.0, 0.5], [-5.0, -0.25]]))
    assert inner.taken[0].tolist() == [[1.0, 0.5], [-1.0, -0.25]]
    assert inner.taken[0].dtype == np.float32


def test_actions_without_their_last_axis_are_spread_over_it() -> None:
    inner = scripted_box()
    envs: Any = ClipAction(inner)
    envs.step(np.array([5.0, -0.25]))
    assert inner.taken[0].tolist() == [[1.0, 1.0], [-0.25, -0.25]]


def test_actions_may_be_lists() -> None:
    inner = Scripted([(np.zeros(2), [0, 0], {})])
    envs: Any = VectorizeTransformAction(
        inner, TransformAction, func=lambda act: 2 - act, action_space=None
    )
    envs.step([0, 2])
    assert inner.taken[0].tolist() == [2, 0]


def test_a_wrapper_without_func() -> None:
    inner = scripted_box()
    envs: Any = VectorizeTransformAction(inner, DiscretizeAction, bins=4, multidiscrete=True)
    envs.step(np.array([[0, 3], [1, 2]]))
    assert inner.taken[0].tolist() == [[-0.75, 0.75], [-0.25, 0.25]]

    class Half(RewardWrapper[Any, Any]):
        def reward(self, reward: Any) -> Any:
            return reward / 2

    class Negative(ObservationWrapper[Any, Any, Any]):
        def observation(self, observation: Any) -> Any:
            return -observation

    envs = VectorizeTransformReward(scripted_box([4.0, 6.0]), Half)
    assert envs.step(None)[1].tolist() == [2.0, 3.0]
    envs = VectorizeTransformObservation(scripted_box(), Negative)
    assert envs.step(None)[0].tolist() == [[-1.0], [-1.0]]


def test_clip_reward() -> None:
    rewards = np.array([4.0, -6.0])
    envs: Any = ClipReward(scripted_box(rewards), min_reward=-1.0, max_reward=2.0)
    assert envs.step(None)[1].tolist() == [2.0, -1.0]
    assert rewards.tolist() == [4.0, -6.0]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_rewards_keep_their_dtype(dtype: Any) -> None:
    for wrapper in (ClipReward, VectorizeTransformReward):
        inner = Scripted([(np.array([4, -6], dtype), [0, 0], {})])
        if wrapper is ClipReward:
            envs: Any = ClipReward(inner, np.float64(-1.5))
        else:
            envs = VectorizeTransformReward(inner, TransformReward, func=lambda r: r * 1.0)
        assert envs.step(NOOP)[1].dtype == dtype


@pytest.mark.parametrize("bounds", [{}, {"min_reward": 1, "max_reward": 0}])
def test_bad_reward_bounds(bounds: Any) -> None:
    with pytest.raises(InvalidBound):
        ClipReward(twins(), **bounds)


def test_bounds_per_environment_are_no_reward() -> None:
    envs: Any = ClipReward(scripted_box(), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="sequence"):
        envs.step(None)


def test_observation_spaces() -> None:
    envs: Any = FilterObservation(twins("dict"), ["n"])
    assert list(envs.single_observation_space.spaces) == ["n"]
    assert envs.reset(seed=0)[0] in envs.observation_space
    envs = FlattenObservation(twins("tuple"))
    assert envs.observation_space.shape == (3, 5)
    assert envs.autoreset_mode is AutoresetMode.NEXT_STEP
    assert not envs.same_out


def test_missing_autoreset_mode() -> None:
    inner = Scripted()
    del inner.metadata["autoreset_mode"]
    with pytest.warns(UserWarning, match="missing `autoreset_mode`"):
        envs: Any = FlattenObservation(inner)
    assert envs.autoreset_mode is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize(
    ("kind", "wrapper", "kwargs"),
    [
        ("box", RescaleObservation, {"min_obs": 0, "max_obs": 1}),
        *(
            (kind, DtypeObservation, {"dtype": "int16"})
            for kind in ("box", "image", "int_box", "discrete")
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*precision lowered.*")
def test_whole_batches_give_the_same_bits(
    kind: str, wrapper: Any, kwargs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rollout() -> list[bytes]:
        envs = wrapper(twins(kind), **kwargs)
        results = [envs.reset(seed=4)[0]]
        results += [envs.step(np.zeros(3, np.int64))[0] for _ in range(20)]
        return [array.tobytes() + str(array.dtype).encode() for array in results]

    assert wrapper.elementwise
    whole = rollout()
    monkeypatch.setattr(wrapper, "elementwise", False)
    assert rollout() == whole


def test_values_that_no_array_holds() -> None:
    batch = transform_batch(
        str.upper,
        ("a", "b"),
        batch_space(Text(2), 2),
        Text(2),
        num_envs=2,
        keep_dtype=True,
        elementwise=False,
    )
    assert batch == ("A", "B")


def test_floats_do_not_become_integers_silently() -> None:
    envs: Any = VectorizeTransformObservation(
        twins("discrete"), TransformObservation, func=lambda n: n / 2, observation_space=Discrete(4)
    )
    with pytest.raises(TypeError):
        envs.reset(seed=0)
