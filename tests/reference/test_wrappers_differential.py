"""Every wrapper of Gymnasium against its Ludus twin, step by step."""

from __future__ import annotations

import inspect
import warnings
from collections import deque
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import gymnasium.wrappers
import numpy as np
import pytest

import ludus
import ludus.wrappers
from tests.reference.twins import assert_same, twin_env
from tests.videos import opened_video
from tests.wrappers.cases import CASES, Case

LIBS: tuple[ModuleType, ModuleType] = (ludus, gymnasium)
NAMES = sorted(set(gymnasium.wrappers.__all__) - {"vector"})
CONVERSIONS = {"ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"}


@pytest.fixture(autouse=True)
def _no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.parametrize("name", NAMES)
def test_parameters_have_the_same_names_in_the_same_order(name: str) -> None:
    ours, theirs = (
        inspect.signature(getattr(lib.wrappers, name)).parameters.values() for lib in LIBS
    )
    assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        if other.default is not inspect.Parameter.empty and not callable(other.default):
            assert mine.default == other.default


def test_every_wrapper_has_a_case() -> None:
    assert {case.wrapper for case in CASES} == set(NAMES) - CONVERSIONS


def without_clock(info: dict[str, Any]) -> dict[str, Any]:
    info = deepcopy(info)
    for value in info.values():
        if isinstance(value, dict) and set(value) == {"r", "l", "t"}:
            assert isinstance(value.pop("t"), float)
    return info


def compare(ours: Any, theirs: Any, actions: Any, steps: int = 100) -> None:
    """Run both for ``steps`` steps over several episodes and compare whatever they return."""
    done, episodes = True, 0
    for step in range(steps):
        if done:
            seed = 40 + episodes if episodes % 2 == 0 else None
            results = [env.reset(seed=seed) for env in (ours, theirs)]
            episodes += 1
        else:
            action = actions()
            results = [env.step(deepcopy(action)) for env in (ours, theirs)]
        left, right = ([*result[:-1], without_clock(result[-1])] for result in results)
        assert_same(left, right, f"step {step}")
        for a, b in zip(left[:-1], right[:-1], strict=True):
            assert type(a) is type(b), f"step {step}"
        done = bool(left[2] or left[3]) if len(left) == 5 else False
        if ours.render_mode is not None and step % 3 == 0:
            assert_same(ours.render(), theirs.render(), f"render {step}")
    assert episodes > 2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_same_behaviour(case: Case, tmp_path: Path) -> None:
    ours = case.build(ludus, tmp_path)
    with warnings.catch_warnings(action="ignore"):
        theirs = case.build(gymnasium, tmp_path)
    for kind in ("action_space", "observation_space"):
        assert repr(getattr(ours, kind)) == repr(getattr(theirs, kind))
        assert getattr(ours, kind).dtype == getattr(theirs, kind).dtype
    assert ours.metadata == theirs.metadata
    assert ours.render_mode == theirs.render_mode
    assert list(ours._saved_kwargs) == list(theirs._saved_kwargs)
    theirs.action_space.seed(7)
    single_episode = case.wrapper == "Autoreset"
    compare(ours, theirs, theirs.action_space.sample, 300 if single_episode else 100)
    compare_attributes(ours, theirs)
    ours.close()
    theirs.close()
    if case.wrapper == "RecordVideo":
        compare_videos(Path(ours.video_folder), Path(theirs.video_folder))


def compare_attributes(ours: Any, theirs: Any) -> None:
    """Whoever reads a wrapper's public attributes finds the same values under the same names."""
    # Buffers that are rewritten at every use, clocks, and folders that differ on purpose.
    private = {"stacked_obs", "episode_start_time", "time_queue", "video_folder"}
    for name, value in vars(theirs).items():
        if name.startswith("_") or name in private:
            continue
        assert hasattr(ours, name), name
        if isinstance(value, deque):
            assert_same(list(getattr(ours, name)), list(value), name)
        elif isinstance(value, (bool, int, float, str, list, tuple, np.ndarray, type(None))):
            assert_same(getattr(ours, name), value, name)


def compare_videos(ours: Path, theirs: Path) -> None:
    names = sorted(path.name for path in theirs.iterdir())
    assert names
    assert sorted(path.name for path in ours.iterdir()) == names
    for name in names[:2]:
        with opened_video(ours / name) as mine, opened_video(theirs / name) as other:
            assert mine.fps == other.fps
            assert_same(list(mine.iter_frames()), list(other.iter_frames()), name)


def conversions() -> list[Any]:
    import jax.numpy as jnp
    import torch

    return [
        ("ArrayConversion", {"env_xp": np, "target_xp": torch}),
        ("ArrayConversion", {"env_xp": np, "target_xp": jnp, "target_device": None}),
        ("JaxToNumpy", {}),
        ("JaxToTorch", {"device": "cpu"}),
        ("NumpyToTorch", {}),
        ("NumpyToTorch", {"device": torch.device("cpu")}),
    ]


@pytest.mark.parametrize("kind", ["box", "dict", "tuple", "discrete"])
@pytest.mark.parametrize("index", range(6))
def test_same_conversions(index: int, kind: str) -> None:
    name, arguments = conversions()[index]
    ours, theirs = (
        getattr(lib.wrappers, name)(
            twin_env(lib, kind, "box", render_mode="rgb_array"), **arguments
        )
        for lib in LIBS
    )
    assert list(ours._saved_kwargs) == list(theirs._saved_kwargs)
    theirs.action_space.seed(3)
    compare(ours, theirs, theirs.action_space.sample, 40)


WRONG = [
    Case("AddRenderObservation"),
    Case("AddRenderObservation", render_mode="ansi"),
    Case(
        "AddRenderObservation",
        {"render_only": False, "render_key": "a"},
        "dict",
        render_mode="rgb_array",
    ),
    Case("AddWhiteNoise", {"probability_of_noise_per_pixel": 1.0}),
    Case("AddWhiteNoise", {"probability_of_noise_per_pixel": -0.1}),
    Case("ArrayConversion", {"env_xp": inspect, "target_xp": np}),
    Case("AtariPreprocessing", observation="image"),
    Case("AtariPreprocessing", {"frame_skip": 0}, "image"),
    Case("AtariPreprocessing", {"screen_size": 0}, "image"),
    Case("AtariPreprocessing", {"screen_size": (1, 2, 3)}, "image"),
    Case("AtariPreprocessing", {"frame_skip": 1, "noop_max": -1}, "image"),
    Case("ClipAction"),
    Case("ClipReward"),
    Case("ClipReward", {"min_reward": 1, "max_reward": 0}),
    Case("DelayObservation", {"delay": 1.0}),
    Case("DelayObservation", {"delay": True}),
    Case("DelayObservation", {"delay": -1}),
    Case("DiscretizeAction", {"bins": 3}),
    Case("DiscretizeAction", {"bins": (3, 3, 3)}, action="box"),
    Case("DiscretizeAction", {"bins": 2.5}, action="box"),
    Case("DiscretizeAction", {"bins": 0}, action="box"),
    Case("DiscretizeObservation", {"bins": 3}, "dict"),
    Case("DiscretizeObservation", {"bins": (1, 2)}),
    Case("DtypeObservation", {"dtype": np.float32}, "dict"),
    Case("FilterObservation", {"filter_keys": ["n"]}),
    Case("FilterObservation", {"filter_keys": {"n"}}, "dict"),
    Case("FilterObservation", {"filter_keys": [1]}, "dict"),
    Case("FilterObservation", {"filter_keys": []}, "dict"),
    Case("FilterObservation", {"filter_keys": ["missing"]}, "dict"),
    Case("FilterObservation", {"filter_keys": ["a"]}, "tuple"),
    Case("FilterObservation", {"filter_keys": [0, 0]}, "tuple"),
    Case("FilterObservation", {"filter_keys": [2]}, "tuple"),
    Case("FilterObservation", {"filter_keys": [-3]}, "tuple"),
    Case("FilterObservation", {"filter_keys": []}, "tuple"),
    Case("FrameStackObservation", {"stack_size": 2.0}),
    Case("FrameStackObservation", {"stack_size": 0}),
    Case("FrameStackObservation", {"stack_size": 2, "padding_type": "other"}),
    Case("FrameStackObservation", {"stack_size": 2, "padding_type": np.ones(9)}),
    Case("GrayscaleObservation"),
    Case("GrayscaleObservation", observation="dict"),
    Case("HumanRendering"),
    Case("HumanRendering", render_mode="ansi"),
    Case("MaxAndSkipObservation", {"skip": 1}),
    Case("MaxAndSkipObservation", {"skip": 2.5}),
    Case("MaxAndSkipObservation", {"skip": 2}, "dict"),
    Case("NormalizeObservation", {"epsilon": 0}),
    Case("NormalizeObservation", observation="dict"),
    Case("NormalizeReward", {"gamma": 1.1}),
    Case("NormalizeReward", {"epsilon": -1}),
    Case("ObstructView", {"obstructed_pixels_ratio": 1, "obstruction_width": 3}),
    Case("ObstructView", {"obstructed_pixels_ratio": 0.1, "obstruction_width": 0}),
    Case("RecordVideo", {"video_folder": "v"}),
    Case("RecordVideo", {"video_folder": "v"}, render_mode="ansi"),
    Case("RenderCollection"),
    Case("RenderCollection", render_mode="rgb_array_list"),
    Case("RepeatAction", {"num_repeats": 0}),
    Case("RepeatAction", {"num_repeats": "2"}),
    Case("RescaleAction", {"min_action": 0, "max_action": 1}),
    Case("RescaleAction", {"min_action": 1, "max_action": 1}, action="box"),
    Case("RescaleAction", {"min_action": 2, "max_action": 1}, action="box"),
    Case("RescaleAction", {"min_action": "0", "max_action": 1}, action="box"),
    Case("RescaleAction", {"min_action": np.zeros(5), "max_action": 1}, action="box"),
    Case("RescaleObservation", {"min_obs": -np.inf, "max_obs": 1}),
    Case("RescaleObservation", {"min_obs": 0, "max_obs": 1}, "dict"),
    Case("RescaleObservation", {"min_obs": 0, "max_obs": [1]}),
    Case("RescaleObservation", {"min_obs": False, "max_obs": 1}),
    Case("ReshapeObservation", {"shape": (2, 2)}),
    Case("ReshapeObservation", {"shape": 3}),
    Case("ReshapeObservation", {"shape": (3.0,)}),
    Case("ReshapeObservation", {"shape": (-1, -3)}),
    Case("ReshapeObservation", {"shape": (3,)}, "dict"),
    Case("ResizeObservation", {"shape": (3, 3)}),
    Case("ResizeObservation", {"shape": (3, 3)}, "int_box"),
    Case("ResizeObservation", {"shape": [3, 3]}, "image"),
    Case("ResizeObservation", {"shape": (3,)}, "image"),
    Case("ResizeObservation", {"shape": (3, 2.5)}, "image"),
    Case("ResizeObservation", {"shape": (0, 2)}, "image"),
    Case("StickyAction", {"repeat_action_probability": 1}),
    Case("StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": 0}),
    Case("StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": (3, 2)}),
    Case("StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": (1, 2, 3)}),
    Case("StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": [1, 2]}),
    Case("TimeAwareObservation"),
    Case(
        "TimeAwareObservation",
        {"dict_time_key": "a"},
        "dict",
        inner=lambda lib, env: lib.wrappers.TimeLimit(env, 3),
    ),
    Case("TimeLimit", {"max_episode_steps": 0}),
    Case("TimeLimit", {"max_episode_steps": 2.0}),
    Case("TimeLimit", {"max_episode_steps": np.int64(3)}),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
def test_wrong_arguments_raise_the_same(case: Case, tmp_path: Path) -> None:
    raised = []
    for lib in LIBS:
        with warnings.catch_warnings(action="ignore"), pytest.raises(Exception, match=r".") as info:
            case.build(lib, tmp_path)
        raised.append(info.type)
    ours, theirs = raised
    assert theirs.__name__ in [cls.__name__ for cls in ours.__mro__], (ours, theirs)


@pytest.mark.parametrize("name", ["TimeLimit", "OrderEnforcing", "NormalizeReward"])
def test_not_an_environment_raises_the_same(name: str) -> None:
    for lib in LIBS:
        arguments = {"max_episode_steps": 3} if name == "TimeLimit" else {}
        with pytest.raises(TypeError, match="Expected env to be a"):
            getattr(lib.wrappers, name)(object(), **arguments)


def test_running_statistics_have_the_same_bits() -> None:
    from gymnasium.wrappers.utils import RunningMeanStd as Theirs

    from ludus.wrappers.utils import RunningMeanStd as Ours
    from ludus.wrappers.utils import add_sample

    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64, np.uint8, np.int16):
        ours, theirs, batched = Ours(shape=(4,)), Theirs(shape=(4,)), Ours(shape=(4,))
        for _ in range(50):
            sample = rng.normal(60, 20, 4).astype(dtype)
            add_sample(ours, sample)  # type: ignore[arg-type]
            theirs.update(np.array([sample]))
            batched.update(np.array([sample]))
            for mine in (ours, batched):
                assert_same(
                    [mine.mean, mine.var, mine.count], [theirs.mean, theirs.var, theirs.count]
                )
    with np.errstate(invalid="ignore"):
        add_sample(ours, np.array([np.inf, np.nan, 1.0, 2.0]))
        theirs.update(np.array([[np.inf, np.nan, 1.0, 2.0]]))
    assert_same([ours.mean, ours.var], [theirs.mean, theirs.var])


def test_zeros_are_the_same() -> None:
    from gymnasium.wrappers.utils import create_zero_array as theirs

    from ludus.wrappers.utils import create_zero_array as ours

    def spaces(lib: ModuleType) -> list[Any]:
        s = lib.spaces
        return [
            s.Box(-1, 1, (2,)),
            s.Box(np.array([1, -5, -1]), np.array([3, -2, 1]), dtype=np.int16),
            s.Box(0.5, 1.0, ()),
            s.Discrete(4, start=-2),
            s.MultiDiscrete([2, 3], start=[5, 1]),
            s.MultiBinary((2, 2)),
            s.Text(5, min_length=3, charset="ba"),
            s.Tuple((s.Discrete(2), s.Box(2, 3))),
            s.Dict(a=s.Discrete(3), b=s.Dict(c=s.Box(-3, -2))),
            s.Sequence(s.Box(0, 1)),
            s.Sequence(s.Box(0, 1), stack=True),
            s.OneOf((s.Discrete(3), s.Box(0, 1))),
            s.Graph(s.Box(1, 2, (3,)), s.Discrete(4)),
            s.Graph(s.Box(1, 2, (3,)), None),
        ]

    for mine, other in zip(spaces(ludus), spaces(gymnasium), strict=True):
        assert_same(ours(mine), theirs(other), repr(mine))
        assert ours(mine) in mine


def test_rescaling_keeps_infinite_bounds() -> None:
    low, high = np.array([-np.inf, 0.0, -2.0]), np.array([np.inf, np.inf, 3.0])
    new_low, new_high = np.array([-np.inf, 5.0, 0.0]), np.array([np.inf, np.inf, 1.0])
    results = []
    for lib, utils in ((ludus, ludus.wrappers.utils), (gymnasium, gymnasium.wrappers.utils)):
        box, forward, backward = utils.rescale_box(
            lib.spaces.Box(low, high, dtype=np.float64), new_low, new_high
        )
        value = np.array([7.0, 3.0, 0.5])
        results.append([box.low, box.high, forward(value), backward(forward(value))])
    assert_same(*results)
