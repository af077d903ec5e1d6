"""``ludus.utils`` has the modules, names, parameters and behaviour of ``gymnasium.utils``."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
from copy import deepcopy
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.utils.colorize import color2num, colorize
from tests.reference.twins import assert_same, twin_env

gymnasium = pytest.importorskip("gymnasium")
their_step_api = pytest.importorskip("gymnasium.utils.step_api_compatibility")

MODULES = (
    "colorize",
    "env_checker",
    "env_match",
    "ezpickle",
    "passive_env_checker",
    "performance",
    "play",
    "record_constructor",
    "save_video",
    "seeding",
    "step_api_compatibility",
)


@pytest.fixture(autouse=True)
def _no_window_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    # Gymnasium's play module asks for one as soon as it is imported.
    monkeypatch.setattr(pytest.importorskip("matplotlib"), "use", lambda *args, **kwargs: None)


def _module(lib: str, name: str) -> ModuleType:
    return importlib.import_module(f"{lib}.utils.{name}")


def _own(module: ModuleType) -> dict[str, Any]:
    """Return the public names that the module defines or exports."""
    own = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }
    return own | {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def _has_signature(value: Any) -> bool:
    if inspect.isclass(value):
        return not issubclass(value, Exception)
    # Neither type aliases nor functools.partial objects, whose parameters are an accident.
    return inspect.isfunction(value)


def test_the_layout_is_gymnasiums() -> None:
    files = importlib.resources.files("gymnasium.utils").iterdir()
    found = {file.name.removesuffix(".py") for file in files if file.name.endswith(".py")}
    assert found - {"__init__"} == set(MODULES)
    assert set(gymnasium.utils.__all__) == set(ludus.utils.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_names_and_parameters(name: str) -> None:
    ours, theirs = _module("ludus", name), _own(_module("gymnasium", name))
    assert theirs
    for member, value in theirs.items():
        assert hasattr(ours, member), member
        if not _has_signature(value):
            continue
        expected, found = _parameters(value), _parameters(getattr(ours, member))
        assert list(found)[: len(expected)] == list(expected), member
        for key, parameter in expected.items():
            assert found[key].default == parameter.default, (member, key)
        # What is added must not be in the way of calls that do not know it.
        assert all(p.default is not p.empty for p in list(found.values())[len(expected) :])


@pytest.mark.parametrize(("kind", "name"), [("PlayableGame", "play"), ("PlayPlot", "play")])
def test_methods(kind: str, name: str) -> None:
    theirs, ours = (getattr(_module(lib, name), kind) for lib in ("gymnasium", "ludus"))
    for method, function in vars(theirs).items():
        if inspect.isfunction(function) and not method.startswith("_"):
            assert list(_parameters(getattr(ours, method))) == list(_parameters(function))


@pytest.mark.parametrize("color", color2num)
@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("highlight", [False, True])
def test_colors(color: str, bold: bool, highlight: bool) -> None:
    theirs = _module("gymnasium", "colorize")
    assert colorize("x", color, bold, highlight) == theirs.colorize("x", color, bold, highlight)
    assert dict(color2num) == dict(theirs.color2num)


KEY = "TimeLimit.truncated"
DONES = np.array([False, True, True])
SINGLE: list[Any] = [
    *(
        (0, 1.0, done, info)
        for done in (False, True)
        for info in ({}, {"a": 1}, {KEY: False}, {KEY: True, "a": 1})
    ),
    *(
        (0, 1.0, terminated, truncated, {"a": 1})
        for terminated in (False, True)
        for truncated in (False, True)
    ),
]
VECTOR: list[Any] = [
    (0, 1.0, DONES, [{}, {KEY: True}, {"a": 1}]),
    (0, 1.0, DONES, {KEY: np.array([False, True, False]), "a": 1}),
    (0, 1.0, DONES, {}),
    *(
        (0, 1.0, terminated, truncated, infos)
        for terminated in (np.array([False, True, True]), np.zeros(3, bool))
        for truncated in (np.array([True, True, False]), np.zeros(3, bool))
        for infos in ([{}, {"a": 1}, {}], {"a": 1})
    ),
]


@pytest.mark.parametrize(
    ("result", "is_vector"), [(r, False) for r in SINGLE] + [(r, True) for r in VECTOR]
)
@pytest.mark.parametrize("two_flags", [False, True])
def test_step_api(result: Any, is_vector: bool, two_flags: bool) -> None:
    ours = _module("ludus", "step_api_compatibility")
    expected = their_step_api.step_api_compatibility(deepcopy(result), two_flags, is_vector)
    found = ours.step_api_compatibility(deepcopy(result), two_flags, is_vector)
    assert_same(list(expected), list(found))
    assert [type(part) for part in found] == [type(part) for part in expected]


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("wait_on_player", [False, True])
def test_play(seed: int, wait_on_player: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    records = []
    for lib in ("gymnasium", "ludus"):
        pygame.init()
        pygame.event.clear()
        env = twin_env(importlib.import_module(lib), render_mode="rgb_array", mean_length=4)
        records.append(_played(_module(lib, "play").play, env, pygame, seed, wait_on_player))
    theirs, ours = records
    assert len(ours) == 30
    assert_same(theirs, ours)


def _played(play: Any, env: Any, pygame: Any, seed: int, wait: bool) -> list[Any]:
    record: list[Any] = []
    keys = {"a": 0, "b": 1, "ab": 2, ("c", "b"): 3}

    def callback(before: Any, after: Any, *rest: Any) -> None:
        # After a reset Gymnasium hands on the pair (obs, info) as the observation before.
        before = before[0] if isinstance(before, tuple) else before
        record.append((before, after, *rest))
        pressed = "abcab"[len(record) % 5]
        kind = pygame.KEYUP if len(record) % 7 in (3, 4) else pygame.KEYDOWN
        pygame.event.post(pygame.event.Event(kind, key=ord(pressed)))
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=ord("a")))
        if len(record) == 30:
            pygame.event.post(pygame.event.Event(pygame.QUIT))

    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=ord("b")))
    play(
        env,
        keys_to_action=keys,
        callback=callback,
        seed=seed,
        fps=1000,
        noop=1,
        wait_on_player=wait,
    )
    return record


@pytest.mark.parametrize("episode", [0, 1, 2, 7, 8, 9, 64, 729, 999, 1000, 1331, 2000])
def test_video_schedule(episode: int) -> None:
    theirs, ours = (
        _module(lib, "save_video").capped_cubic_video_schedule(episode)
        for lib in ("gymnasium", "ludus")
    )
    assert ours is theirs
