"""The wrappers that pick, flatten, convert or reshape observations."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from ludus.errors import DependencyNotInstalled
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from ludus.wrappers import (
    AddRenderObservation,
    DtypeObservation,
    FilterObservation,
    FlattenObservation,
    GrayscaleObservation,
    ReshapeObservation,
    ResizeObservation,
)
from tests.wrappers.script_env import ScriptEnv

PARTS = Dict(a=Discrete(3), b=Box(0, 1, (2,)))
PART = {"a": np.int64(2), "b": np.float32([0.5, 1])}
IMAGE = Box(0, 255, (4, 6, 3), np.uint8)


def parts() -> ScriptEnv:
    return ScriptEnv([PART] * 3, space=PARTS)


def image(value: Any = 0) -> ScriptEnv:
    return ScriptEnv([np.full((4, 6, 3), value, np.uint8)] * 3, space=IMAGE)


def test_filter_keeps_the_order_of_the_keys() -> None:
    env = FilterObservation(parts(), ["b"])
    assert env.observation_space == Dict(b=PARTS["b"])
    assert env.reset()[0] == {"b": PART["b"]}
    pair = ScriptEnv([(np.int64(1), np.int64(0))] * 3, space=Tuple([Discrete(3), Discrete(2)]))
    swapped = FilterObservation(pair, [1, 0])
    assert swapped.observation_space == Tuple([Discrete(2), Discrete(3)])
    assert swapped.reset()[0] == (0, 1)
    assert swapped.filter_keys == [1, 0]


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ({"a"}, TypeError, "sequence"),
        ([0], TypeError, "strings"),
        (["c"], ValueError, "missing"),
        ([], ValueError, "empty"),
    ],
)
def test_bad_keys(keys: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        FilterObservation(parts(), keys)


def test_filter_needs_parts() -> None:
    with pytest.raises(ValueError, match="takes parts of"):
        FilterObservation(ScriptEnv(), ["a"])


def test_flatten() -> None:
    env = FlattenObservation(parts())
    assert env.observation_space.shape == (5,)
    assert env.reset()[0].tolist() == [0, 0, 1, 0.5, 1]


@pytest.mark.parametrize(
    ("space", "value", "expected"),
    [
        (Box(0, 9, (2,), np.int64), np.array([1, 2]), Box(0, 9, (2,), np.float64)),
        (Box(0, 9, (2,), np.float32), np.float32([1, 2]), Box(0, 9, (2,), np.float64)),
        (Discrete(3, start=5), np.int64(6), Box(5, 7, (), np.float64)),
        (MultiBinary(2), np.int8([0, 1]), Box(0, 1, (2,), np.float64)),
    ],
)
def test_dtype(space: Any, value: Any, expected: Any) -> None:
    env = DtypeObservation(ScriptEnv([value] * 3, space=space), np.float64)
    assert env.observation_space == expected
    observation = env.reset()[0]
    assert observation.dtype == np.float64
    assert np.all(observation == value)


def test_dtype_of_multi_discrete_and_others() -> None:
    env = DtypeObservation(ScriptEnv(space=MultiDiscrete([3, 4], start=[1, 0])), np.int8)
    assert env.observation_space == MultiDiscrete([3, 4], dtype=np.int8, start=[1, 0])
    with pytest.raises(TypeError, match="DtypeObservation converts"):
        DtypeObservation(parts(), np.float32)


@pytest.mark.parametrize("keep", [False, True])
def test_grayscale(keep: bool) -> None:
    env = GrayscaleObservation(image([100, 200, 50]), keep_dim=keep)
    observation = env.reset()[0]
    assert observation.shape == env.observation_space.shape == ((4, 6, 1) if keep else (4, 6))
    assert (observation == int(0.2125 * 100 + 0.7154 * 200 + 0.0721 * 50)).all()
    assert observation.dtype == np.uint8


@pytest.mark.parametrize("shape", [(2, 3), (8, 12)])
def test_resize(shape: tuple[int, int]) -> None:
    env = ResizeObservation(image(7), shape)
    observation = env.reset()[0]
    assert observation.shape == env.observation_space.shape == (*shape, 3)
    assert (observation == 7).all()
    gray = ResizeObservation(GrayscaleObservation(image(7), keep_dim=True), shape)
    assert gray.reset()[0].shape == (*shape, 1)


def test_resize_averages() -> None:
    inner = image()
    inner.observations[0][:, ::2] = 100
    assert (ResizeObservation(inner, (2, 3)).reset()[0] == 50).all()


def test_reshape() -> None:
    env = ReshapeObservation(image(3), (2, 36))
    assert env.observation_space == Box(0, 255, (2, 36), np.uint8)
    assert env.reset()[0].shape == (2, 36)
    assert env.shape == (2, 36)


@pytest.mark.parametrize("wrapper", [GrayscaleObservation, ResizeObservation, ReshapeObservation])
def test_only_images(wrapper: type[Any]) -> None:
    arguments = () if wrapper is GrayscaleObservation else ((2, 2),)
    with pytest.raises(TypeError, match="needs a Box as observation space"):
        wrapper(parts(), *arguments)
    with pytest.raises(ValueError, match="needs images|number of elements"):
        wrapper(ScriptEnv(), *arguments)
    floats = ScriptEnv(space=Box(0, 255, (4, 6, 3), np.float32))
    with pytest.raises(ValueError, match="needs images|number of elements"):
        wrapper(floats, *arguments)


@pytest.mark.parametrize(
    ("shape", "error"),
    [([2, 2], TypeError), ((2,), ValueError), ((2, 1.5), TypeError), ((0, 2), ValueError)],
)
def test_bad_size(shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`shape` must"):
        ResizeObservation(image(), shape)


def test_missing_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[images\]"):
        ResizeObservation(image(), (2, 2))


def test_frame_instead_of_the_observation() -> None:
    env = AddRenderObservation(ScriptEnv(render_mode="rgb_array"))
    env.reset()
    observation = env.step(0)[0]
    assert (observation == env.render()).all()
    assert observation in env.observation_space


def test_frame_beside_the_observation() -> None:
    env = AddRenderObservation(
        ScriptEnv(render_mode="rgb_array"), render_only=False, render_key="p", obs_key="s"
    )
    observation = env.reset()[0]
    assert list(observation) == ["s", "p"]
    assert observation in env.observation_space
    inner = parts()
    inner.render_mode = "rgb_array"
    more = AddRenderObservation(inner, render_only=False)
    assert set(more.reset()[0]) == {"a", "b", "pixels"}
    with pytest.raises(ValueError, match="already has the key"):
        AddRenderObservation(inner, render_only=False, render_key="a")


@pytest.mark.parametrize(
    ("mode", "error"), [(None, ValueError), ("human", ValueError), ("ansi", TypeError)]
)
def test_frames_that_are_no_arrays(mode: str | None, error: type[Exception]) -> None:
    with pytest.raises(error, match="AddRenderObservation"):
        AddRenderObservation(ScriptEnv(render_mode=mode))
