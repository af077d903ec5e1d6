"""Passive checkers hand results on unchanged and call no more than they must."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

from ludus.checking import (
    CheckFailed,
    check_obs,
    check_space,
    env_data_reuse_passive_checker,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_step_passive_checker,
)
from ludus.errors import Error
from ludus.spaces import Box, Dict, Discrete, MultiBinary, Tuple
from tests.checking.broken_envs import Good, overriding


def test_results_are_handed_on_unchanged() -> None:
    results: list[Any] = []

    class Watched(Good):
        def reset(self, **kwargs: Any) -> Any:
            results.append(super().reset(**kwargs))
            return results[-1]

        def step(self, action: Any) -> Any:
            results.append(super().step(action))
            return results[-1]

        def render(self) -> Any:
            results.append(super().render())
            return results[-1]

    env = Watched("rgb_array")
    assert env_reset_passive_checker(env, seed=3) is results[0]
    assert env_step_passive_checker(env, env.action_space.sample()) is results[1]
    assert env_render_passive_checker(env) is results[2]
    assert len(results) == 3


def test_reset_passes_arguments_on() -> None:
    class Watched(Good):
        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            self.given = (seed, options)
            return super().reset(seed=seed)

    env = Watched()
    env_reset_passive_checker(env, seed=3, options={"a": 1})
    assert env.given == (3, {"a": 1})


@pytest.mark.parametrize("keywords", ["kwargs", "rest"])
def test_reset_may_take_any_keywords(keywords: str) -> None:
    namespace: dict[str, Any] = {"Good": Good}
    exec(f"def reset(self, **{keywords}): return Good.reset(self, **{keywords})", namespace)
    observation, info = env_reset_passive_checker(overriding(reset=namespace["reset"])(), seed=1)
    assert observation in Good().observation_space
    assert info == {"steps": 0}


def test_a_step_of_wrong_length_is_both_kinds_of_error() -> None:
    env = overriding(step=lambda self, action: (1, 2, 3))()
    with pytest.raises(Error, match="actual number of elements returned: 3"):
        env_step_passive_checker(env, None)
    with pytest.raises(AssertionError):
        env_step_passive_checker(env, None)


def test_a_wrong_reset_is_warned_of_and_handed_on() -> None:
    env = overriding(reset=lambda self, *, seed=None, options=None: 5)()
    with pytest.warns(UserWarning, match="was not a tuple of the form"):
        result = env_reset_passive_checker(env)
    assert result == 5  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("space", "obs", "words"),
    [
        (Discrete(3), 1.0, "should be an int or np.int64"),
        (Box(0, 1, (2,), np.float32), [0.5, 0.5], "was expecting a numpy array"),
        (Box(0, 1, (2,), np.float32), np.zeros(2), "dtype to be float32, actual type: float64"),
        (MultiBinary(2), [0, 1], "was expecting a numpy array"),
        (Tuple((Discrete(2),)), [1], "was expecting a tuple"),
        (Discrete(3), 5, r"not within the observation space: got 5 \(int\)"),
        (Box(0, 1, (2,), np.float32), np.full(2, 9, np.float32), "between 9.0 and 9.0"),
        (Dict({"a": Discrete(2)}), {"a": 7}, "not within"),
    ],
)
def test_observations_are_judged(space: Any, obs: Any, words: str) -> None:
    # Some are told twice: by their type, and by the space they are not in.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_obs(obs, space, "step")
    assert any(re.search(words, str(warning.message)) for warning in caught)
    assert {warning.category for warning in caught} == {UserWarning}


@pytest.mark.parametrize(
    ("space", "obs", "words"),
    [
        (Tuple((Discrete(2),)), (1, 1), "length"),
        (Tuple((Discrete(2),)), 1, "length"),
        (Dict({"a": Discrete(2)}), [1], "must be a dict"),
        (Dict({"a": Discrete(2)}), {"b": 1}, r"obs keys: \['b'\], space keys: \['a'\]"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*was expecting a tuple")
def test_observations_of_another_structure_raise(space: Any, obs: Any, words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        check_obs(obs, space, "reset")


def test_a_space_that_raises_is_reported() -> None:
    space = Discrete(3)
    space.contains = lambda x: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    with pytest.warns(UserWarning, match="with exception: ZeroDivisionError"):
        check_obs(1, space, "reset")


def test_check_space_leaves_boxes_to_the_caller() -> None:
    seen: list[Box] = []
    box = Box(1.0, 1.0, (2,))
    check_space(Dict({"a": box, "b": Discrete(2)}), "action", seen.append)
    assert seen == [box]


def test_reused_data_is_warned_of() -> None:
    obs, info = np.zeros(2), {"a": 1}
    env_data_reuse_passive_checker((obs, info), (obs.copy(), dict(info)), "reset", "step")
    with pytest.warns(UserWarning, match="observations returned by `reset` and the following `st"):
        env_data_reuse_passive_checker((obs, info), (obs, {}), "reset", "step")
    with pytest.warns(UserWarning, match="infos returned by `step` and the following `step` share"):
        env_data_reuse_passive_checker((obs, info), (obs.copy(), info), "step", "step")


@pytest.mark.parametrize(
    ("mode", "frame", "words"),
    [
        ("human", 1, "should return `None`"),
        ("ansi", 1, "should produce a string"),
        ("rgb_array", [], "numpy array, got <class 'list'>"),
        ("rgb_array", np.zeros((2, 2, 3)), "dtype uint8, got float64"),
        ("rgb_array", np.zeros((2, 2), np.uint8), "three axes, got 2"),
        ("rgb_array", np.zeros((2, 2, 4), np.uint8), "last axis has three dimensions, got 4"),
        ("depth_array", None, "numpy array, got <class 'NoneType'>"),
        ("depth_array", np.zeros(2), "two axes, got 1"),
        ("rgb_array_list", np.zeros((2, 2, 3), np.uint8), "should produce a list"),
        ("ansi_list", ["a", 1], "should produce a string"),
    ],
)
def test_frames_are_judged(mode: str, frame: Any, words: str) -> None:
    env = overriding(
        render=lambda self: frame, metadata={"render_modes": [mode], "render_fps": 1}
    )()
    env.render_mode = mode
    with pytest.warns(UserWarning, match=words):
        env_render_passive_checker(env)


@pytest.mark.parametrize(
    ("mode", "frame"),
    [
        ("human", None),
        ("ansi", "a"),
        ("rgb_array", np.zeros((2, 2, 3), np.uint8)),
        ("depth_array", np.zeros((2, 2))),
        ("rgb_array_list", [np.zeros((2, 2, 3), np.uint8)]),
        ("own_mode", object()),
    ],
)
def test_good_frames_pass(mode: str, frame: Any) -> None:
    env = overriding(
        render=lambda self: frame, metadata={"render_modes": (mode,), "render_fps": 1.5}
    )()
    env.render_mode = mode
    assert env_render_passive_checker(env) is frame


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"render_modes": {"ansi": 1}, "render_fps": 1}, "to be a sequence"),
        ({"render_modes": ["ansi", 3], "render_fps": 1}, "to be strings"),
        ({"render_modes": ["ansi"], "render_fps": "1"}, "an integer or a float"),
        ({"render_modes": ["ansi"], "render_fps": True}, "an integer or a float"),
        ({"render_modes": ["ansi"]}, "No render fps"),
        ({}, "No render modes"),
    ],
)
def test_metadata_is_judged(metadata: dict[str, Any], words: str) -> None:
    env = overriding(metadata=metadata)()
    env.render_mode = "ansi"
    with pytest.warns(UserWarning, match=words):
        env_render_passive_checker(env)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"render_modes": ["ansi"], "render_fps": 0}, "greater than zero"),
        ({"render_modes": [], "render_fps": 1}, "With no render_modes"),
        ({"render_modes": ["rgb_array"], "render_fps": 1}, "unsupported render mode"),
    ],
)
def test_contradicting_metadata_raises(metadata: dict[str, Any], words: str) -> None:
    env = overriding(metadata=metadata)()
    env.render_mode = "ansi"
    with pytest.raises(CheckFailed, match=words):
        env_render_passive_checker(env)
