"""Specs: a wrapped environment can be built again from its spec."""

from __future__ import annotations

import pickle
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec as GymnasiumSpec

import ludus
from ludus.core import EnvSpec
from ludus.wrappers import TimeLimit
from tests.reference.twins import assert_same
from tests.wrappers.cases import CASES, Case
from tests.wrappers.script_env import ScriptEnv

FIELDS = {"TimeLimit", "OrderEnforcing", "PassiveEnvChecker"}


def with_spec(lib: Any, case: Case, folder: Path) -> Any:
    env = case.inner_env(lib)
    kind = EnvSpec if lib is ludus else GymnasiumSpec
    env.unwrapped.spec = kind("Twin-v0", max_episode_steps=30, disable_env_checker=True)
    return getattr(lib.wrappers, case.wrapper)(env, **case.kwargs(lib, folder))


@pytest.mark.filterwarnings("ignore:.*precision lowered")
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spec_says_what_gymnasium_says(case: Case, tmp_path: Path) -> None:
    ours = with_spec(ludus, case, tmp_path)
    theirs = with_spec(gymnasium, case, tmp_path)
    for name in ("max_episode_steps", "order_enforce", "disable_env_checker"):
        assert getattr(ours.spec, name) == getattr(theirs.spec, name)
    mine, other = ours.spec.additional_wrappers, theirs.spec.additional_wrappers
    assert [wrapper.name for wrapper in mine] == [wrapper.name for wrapper in other]
    assert ours.spec is ours.spec
    if mine and case.wrapper not in FIELDS:
        assert list(mine[-1].kwargs) == list(other[-1].kwargs)
        assert mine[-1].entry_point.startswith("ludus.wrappers.")


# A field of the spec stands for some; a second video recorder would write to the same folder.
REBUILT = [case for case in CASES if case.wrapper not in FIELDS | {"RecordVideo"}]


@pytest.mark.parametrize("case", REBUILT, ids=lambda case: case.id)
def test_wrapper_is_built_again_from_its_spec(case: Case, tmp_path: Path) -> None:
    original = with_spec(ludus, case, tmp_path)
    recorded = original.spec.additional_wrappers[-1]
    module, name = recorded.entry_point.split(":")
    copy = getattr(import_module(module), name)(case.inner_env(ludus), **recorded.kwargs)
    assert copy.observation_space == original.observation_space
    assert copy.action_space == original.action_space
    assert_same(copy.reset(seed=4)[0], original.reset(seed=4)[0])
    original.close()
    copy.close()


def test_no_spec_inside_no_spec_outside() -> None:
    assert TimeLimit(ScriptEnv(), 3).spec is None
    assert ludus.wrappers.DelayObservation(ScriptEnv(), 3).spec is None


def test_spec_that_cannot_be_copied_is_given_up_with_a_warning() -> None:
    class Stubborn:
        def __deepcopy__(self, memo: Any) -> Any:
            raise RuntimeError("no copies")

    for wrapper in (ludus.wrappers.OrderEnforcing, ludus.wrappers.Autoreset):
        env = ScriptEnv()
        env.spec = EnvSpec("Script-v0", kwargs={"it": Stubborn()})
        with pytest.warns(UserWarning, match=r"An exception occurred|could not be copied"):
            assert wrapper(env).spec is None


def test_make_builds_the_stack_again() -> None:
    env = ludus.wrappers.FrameStackObservation(ludus.make("CartPole-v1"), 3, padding_type="zero")
    copy = ludus.make(env.spec)
    assert str(copy) == str(env)
    assert_same(copy.reset(seed=3)[0], env.reset(seed=3)[0])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_wrappers_travel_to_other_processes(case: Case, tmp_path: Path) -> None:
    env = case.build(ludus, tmp_path)
    env.reset(seed=2)
    if case.wrapper == "HumanRendering":
        env.close()
    env.env = ScriptEnv()
    copy = pickle.loads(cloudpickle.dumps(env))
    assert copy.action_space == env.action_space
    assert copy.observation_space == env.observation_space
    env.recorded_frames = []
    copy.recorded_frames = []


def test_own_functions_need_no_cloudpickle() -> None:
    low = ScriptEnv(space=ludus.spaces.Box(0, 255, (4, 4, 3), np.uint8))
    env: Any = ludus.wrappers.ResizeObservation(ludus.wrappers.GrayscaleObservation(low), (2, 2))
    env = ludus.wrappers.ClipReward(ludus.wrappers.RescaleObservation(env, 0, 255), -1, 1)
    copy = pickle.loads(pickle.dumps(env))
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    for one in (env, copy):
        one.unwrapped.observations = [image, image]
        one.unwrapped.rewards = [7.0]
    assert_same(copy.reset()[0], env.reset()[0])
    assert copy.step(0)[1] == env.step(0)[1] == 1.0
    assert_same(deepcopy(env).reset()[0], env.reset()[0])
