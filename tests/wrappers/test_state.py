"""Saving and restoring: what a restored wrapper returns is what the saved one returns."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.core import ObservationWrapper, Wrapper
from ludus.errors import StateError
from ludus.wrappers import legacy
from tests.reference.twins import assert_same, twin_env
from tests.wrappers.cases import CASES, Case
from tests.wrappers.script_env import ScriptEnv

Build = Callable[[Any], Any]
PLAIN = (bool, int, float, str, list, tuple, np.ndarray, np.generic, type(None))


def legacy_builds() -> dict[str, Build]:
    def on(wrapper: Any, *args: Any, **twin: Any) -> Build:
        return lambda folder: wrapper(twin_env(ludus, **twin), *args)

    return {
        "AutoResetWrapper": on(legacy.AutoResetWrapper),
        "ClipReward": on(legacy.ClipReward, -0.1, 0.1),
        "FlattenDictWrapper": on(legacy.FlattenDictWrapper, ["a", "n"], observation="dict"),
        "FrameStack": on(legacy.FrameStack, 3),
        "GrayScaleObservation": on(legacy.GrayScaleObservation, observation="image"),
        "PixelObservationWrapper": on(
            legacy.PixelObservationWrapper, False, render_mode="rgb_array"
        ),
        "SignReward": on(legacy.SignReward),
        "SkipWrapper": on(legacy.SkipWrapper(2)),
        "StepAPICompatibility": on(legacy.StepAPICompatibility),
        "TransformObservation": on(legacy.TransformObservation, abs),
        "TransformReward": on(legacy.TransformReward, abs),
    }


def conversion_builds() -> dict[str, Build]:
    def on(name: str, **arguments: Any) -> Build:
        return lambda folder: getattr(ludus.wrappers, name)(twin_env(ludus), **arguments)

    import torch

    return {
        "ArrayConversion": on("ArrayConversion", env_xp=np, target_xp=torch),
        "JaxToNumpy": on("JaxToNumpy"),
        "JaxToTorch": on("JaxToTorch"),
        "NumpyToTorch": on("NumpyToTorch"),
    }


def run(env: Any, actions: list[Any], done: bool = False) -> list[Any]:
    """Step through the actions, resetting where an episode ends, and note everything."""
    notes: list[Any] = []
    for action in actions:
        if done:
            notes.append(env.reset())
        result = env.step(action)
        notes.append(result)
        if env.render_mode is not None:
            notes.append([] if env.render_mode == "human" else env.render())
        done = bool(result[2] or result[3])
    return [without_clock(note) for note in notes]


def without_clock(note: Any) -> Any:
    if isinstance(note, tuple) and isinstance(note[-1], dict):
        for value in note[-1].values():
            if isinstance(value, dict) and {"r", "l", "t"} == set(value):
                value.pop("t")
    return note


def check_round_trip(build: Build, tmp_path: Path) -> None:
    original = build(tmp_path / "original")
    original.action_space.seed(1)
    before = [original.action_space.sample() for _ in range(23)]
    after = [original.action_space.sample() for _ in range(40)]
    original.reset(seed=11)
    done = bool(run(original, before)[-1 if original.render_mode is None else -2][2])
    state = original.get_state()
    untouched = repr(state)

    restored = build(tmp_path / "restored")
    restored.reset(seed=5)
    run(restored, before[:4])
    restored.set_state(state)
    check_attributes(restored, original)
    expected = run(original, after, done)
    assert repr(state) == untouched, "continuing changed the saved state"
    assert_same(run(restored, after, done), expected)
    restored.set_state(state)
    assert_same(run(restored, after, done), expected, "second restore")
    for env in (original, restored):
        env.close()


def check_attributes(restored: Any, original: Any) -> None:
    """Whatever plain attribute a wrapper has is restored, not only what shows in this run."""
    # Clocks, the folders that differ on purpose, and what belongs to the object's own past.
    own = {"episode_start_time", "time_queue", "video_folder", "_saved_kwargs", "_previous_data"}
    for name, value in vars(original).items():
        if name not in own and isinstance(value, (*PLAIN, deque)):
            other = getattr(restored, name)
            pair = (list(other), list(value)) if isinstance(value, deque) else (other, value)
            assert_same(*pair, name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_round_trip(case: Case, tmp_path: Path) -> None:
    check_round_trip(lambda folder: case.build(ludus, folder), tmp_path)


@pytest.mark.parametrize("name", [n for n in legacy.__all__ if n in legacy_builds()])
def test_round_trip_of_legacy_wrappers(name: str, tmp_path: Path) -> None:
    check_round_trip(legacy_builds()[name], tmp_path)


@pytest.mark.parametrize("name", ["ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"])
def test_round_trip_of_conversions(name: str, tmp_path: Path) -> None:
    check_round_trip(conversion_builds()[name], tmp_path)


def test_every_wrapper_declares_its_state() -> None:
    for name in ludus.wrappers.__all__:
        wrapper = getattr(ludus.wrappers, name)
        if isinstance(wrapper, type) and issubclass(wrapper, Wrapper):
            assert wrapper.state_fields is not None, name


def test_state_is_plain_data() -> None:
    env = ludus.wrappers.NormalizeReward(ludus.wrappers.TimeLimit(twin_env(ludus), 9))
    env.reset(seed=0)
    run(env, [0, 1, 2])

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    assert json.loads(json.dumps(env.get_state(), default=plain))


def test_state_of_another_stack_is_refused() -> None:
    state = ludus.wrappers.TimeLimit(twin_env(ludus), 9).get_state()
    with pytest.raises(StateError, match="TimeLimit"):
        ludus.wrappers.OrderEnforcing(twin_env(ludus)).set_state(state)


@pytest.mark.parametrize("name", ["DelayObservation", "NormalizeObservation", "NormalizeReward"])
def test_damaged_state_is_refused(name: str) -> None:
    arguments = {"delay": 2} if name == "DelayObservation" else {}
    env = getattr(ludus.wrappers, name)(ScriptEnv(), **arguments)
    state = env.get_state()
    state["fields"] = {}
    with pytest.raises(StateError, match="lacks"):
        env.set_state(state)
    env.reset()


def test_wrapper_that_hides_its_state_is_refused() -> None:
    class Hidden(ObservationWrapper[Any, Any, Any]):
        def reset(self, **kwargs: Any) -> Any:
            return super().reset(**kwargs)

    with pytest.raises(StateError, match="Hidden"):
        Hidden(ScriptEnv()).get_state()
