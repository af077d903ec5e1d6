"""Every wrapper with several sets of arguments, on either library."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from tests.reference.twins import twin_env


@dataclass(frozen=True)
class Case:
    """One wrapper around one environment; arguments that need the library are functions of it."""

    wrapper: str
    arguments: dict[str, Any] = field(default_factory=dict)
    observation: str = "box"
    action: str = "discrete"
    render_mode: str | None = None
    inner: Callable[[ModuleType, Any], Any] = lambda lib, env: env

    def inner_env(self, lib: ModuleType) -> Any:
        env = twin_env(lib, self.observation, self.action, render_mode=self.render_mode)
        return self.inner(lib, env)

    def kwargs(self, lib: ModuleType, folder: Any = None) -> dict[str, Any]:
        values = {
            name: value(lib) if isinstance(value, FromLib) else value
            for name, value in self.arguments.items()
        }
        if "video_folder" in values:
            values["video_folder"] = str(folder / lib.__name__ / values["video_folder"])
        return values

    def build(self, lib: ModuleType, folder: Any = None) -> Any:
        wrapper = getattr(lib.wrappers, self.wrapper)
        return wrapper(self.inner_env(lib), **self.kwargs(lib, folder))

    @property
    def id(self) -> str:
        shown = [
            f"{name}={getattr(value, '__name__', value)}" for name, value in self.arguments.items()
        ]
        parts = [self.wrapper, self.observation, self.action, self.render_mode or "", *shown]
        return re.sub(r"[^\w.=,()-]+", "-", "-".join(parts))[:90]


@dataclass(frozen=True)
class FromLib:
    """An argument that belongs to one of the libraries, such as a space."""

    make: Callable[[ModuleType], Any]

    def __call__(self, lib: ModuleType) -> Any:
        return self.make(lib)

    def __str__(self) -> str:
        return "lib"


class FakeEmulator:
    """As much of the Arcade Learning Environment as preprocessing touches."""

    def __init__(self, game: Any) -> None:
        self.game = game

    def lives(self) -> int:
        return 3 - self.game.steps // 9

    def getScreenGrayscale(self, out: Any) -> None:
        out[...] = self._screen()[..., 0]

    def getScreenRGB(self, out: Any) -> None:
        out[...] = self._screen()

    def _screen(self) -> Any:
        rows, columns, channels = np.indices((12, 10, 3))
        return (17 * self.game.steps + 31 * rows + 7 * columns + 50 * channels) % 256


def atari(lib: ModuleType, env: Any) -> Any:
    env.ale = FakeEmulator(env)
    env._frameskip = 1
    env.get_action_meanings = lambda: ["NOOP", "FIRE", "LEFT", "RIGHT"]
    return env


def limited(lib: ModuleType, env: Any) -> Any:
    return lib.wrappers.OrderEnforcing(lib.wrappers.TimeLimit(env, 12))


def fast_clock(lib: ModuleType, env: Any) -> Any:
    env.metadata = {**env.metadata, "render_fps": 100_000}
    return env


def collected(lib: ModuleType, env: Any) -> Any:
    return lib.wrappers.RenderCollection(fast_clock(lib, env))


def double(value: Any) -> Any:
    return 2 * value


def first_of_two(value: Any) -> bool:
    return value % 20 == 0


FLOATS = np.array([0.5, -1.5], dtype=np.float32)

CASES = [
    Case("AddRenderObservation", render_mode="rgb_array"),
    Case("AddRenderObservation", {"render_only": False}, render_mode="rgb_array"),
    Case(
        "AddRenderObservation",
        {"render_only": False, "render_key": "p"},
        "dict",
        render_mode="rgb_array",
    ),
    Case("AddWhiteNoise", {"probability_of_noise_per_pixel": 0.3}, render_mode="rgb_array"),
    Case(
        "AddWhiteNoise",
        {"probability_of_noise_per_pixel": 0.9, "is_noise_grayscale": True},
        render_mode="rgb_array",
    ),
    Case("AtariPreprocessing", {"screen_size": 6}, "image", inner=atari),
    Case(
        "AtariPreprocessing",
        {"screen_size": (5, 8), "grayscale_obs": False, "frame_skip": 2},
        "image",
        inner=atari,
    ),
    Case(
        "AtariPreprocessing",
        {"screen_size": 7, "scale_obs": True, "grayscale_newaxis": True, "noop_max": 0},
        "image",
        inner=atari,
    ),
    Case(
        "AtariPreprocessing",
        {"frame_skip": 1, "terminal_on_life_loss": True, "screen_size": 4},
        "image",
        inner=atari,
    ),
    Case("Autoreset"),
    Case("ClipAction", action="box"),
    Case("ClipReward", {"min_reward": -0.5, "max_reward": 0.75}),
    Case("ClipReward", {"max_reward": 0.1}),
    Case("ClipReward", {"min_reward": np.array(0.2)}),
    Case("DelayObservation", {"delay": 0}),
    Case("DelayObservation", {"delay": 3}),
    Case("DelayObservation", {"delay": np.int64(2)}, "dict"),
    Case("DelayObservation", {"delay": 2}, "discrete"),
    Case("DiscretizeAction", {"bins": 5}, action="box"),
    Case("DiscretizeAction", {"bins": (3, 4), "multidiscrete": True}, action="box"),
    Case("DiscretizeObservation", {"bins": 4}),
    Case("DiscretizeObservation", {"bins": (2, 3, 4)}),
    Case("DiscretizeObservation", {"bins": 4, "multidiscrete": True}, "int_box"),
    Case("DtypeObservation", {"dtype": np.float64}),
    Case("DtypeObservation", {"dtype": "int32"}, "int_box"),
    Case("DtypeObservation", {"dtype": np.dtype(np.float32)}, "discrete"),
    Case("FilterObservation", {"filter_keys": ["n"]}, "dict"),
    Case("FilterObservation", {"filter_keys": ("n", "a")}, "dict"),
    Case("FilterObservation", {"filter_keys": [-1, 0]}, "tuple"),
    *(
        Case("FlattenObservation", observation=kind)
        for kind in ("box", "dict", "tuple", "discrete", "image")
    ),
    *(
        Case("FrameStackObservation", {"stack_size": 3}, kind)
        for kind in ("box", "dict", "tuple", "discrete", "image")
    ),
    Case("FrameStackObservation", {"stack_size": 2, "padding_type": "zero"}, "int_box"),
    Case(
        "FrameStackObservation",
        {"stack_size": 4, "padding_type": np.array([1, -1, 0.5], np.float32)},
    ),
    Case("FrameStackObservation", {"stack_size": 1}),
    Case("GrayscaleObservation", observation="image"),
    Case("GrayscaleObservation", {"keep_dim": True}, "image"),
    Case("HumanRendering", render_mode="rgb_array", inner=fast_clock),
    Case("HumanRendering", render_mode="rgb_array", inner=collected),
    Case("MaxAndSkipObservation", {"skip": 2}),
    Case("MaxAndSkipObservation", observation="image"),
    Case("NormalizeObservation"),
    Case("NormalizeObservation", {"epsilon": 0.1}, "image"),
    Case("NormalizeObservation", {"epsilon": 1e-4}, "discrete"),
    Case("NormalizeReward"),
    Case("NormalizeReward", {"gamma": 0.5, "epsilon": 0.01}),
    Case(
        "ObstructView",
        {"obstructed_pixels_ratio": 0.4, "obstruction_width": 3},
        render_mode="rgb_array",
    ),
    Case(
        "ObstructView",
        {"obstructed_pixels_ratio": 0.9, "obstruction_width": 1, "is_noise_grayscale": True},
        render_mode="rgb_array",
    ),
    Case(
        "ObstructView",
        {"obstructed_pixels_ratio": 0.0, "obstruction_width": 50},
        render_mode="rgb_array",
    ),
    Case("OrderEnforcing", render_mode="ansi"),
    Case("PassiveEnvChecker", render_mode="rgb_array"),
    Case("PassiveEnvChecker", observation="dict"),
    Case("RecordEpisodeStatistics"),
    Case("RecordEpisodeStatistics", {"buffer_length": 2, "stats_key": "stats"}),
    Case(
        "RecordVideo",
        {"video_folder": "a", "episode_trigger": first_of_two},
        render_mode="rgb_array",
    ),
    Case(
        "RecordVideo",
        {
            "video_folder": "b",
            "step_trigger": first_of_two,
            "video_length": 9,
            "fps": 5,
            "name_prefix": "x",
        },
        render_mode="rgb_array",
    ),
    Case(
        "RecordVideo",
        {"video_folder": "c", "episode_trigger": first_of_two},
        render_mode="rgb_array",
        inner=collected,
    ),
    Case("RenderCollection", render_mode="rgb_array"),
    Case("RenderCollection", {"pop_frames": False}, render_mode="ansi"),
    Case("RenderCollection", {"pop_frames": False, "reset_clean": False}, render_mode="ansi"),
    Case("RepeatAction", {"num_repeats": 3}),
    Case("RescaleAction", {"min_action": -0.5, "max_action": 2.0}, action="box"),
    Case("RescaleAction", {"min_action": -FLOATS - 3, "max_action": FLOATS + 4}, action="box"),
    Case("RescaleObservation", {"min_obs": 0, "max_obs": 1.0}),
    Case("RescaleObservation", {"min_obs": np.zeros((2, 2), int), "max_obs": 90}, "int_box"),
    Case("ReshapeObservation", {"shape": (1, 3, 1)}),
    Case("ReshapeObservation", {"shape": (4, 3, 10, 3)}, "image"),
    Case("ResizeObservation", {"shape": (5, 4)}, "image"),
    Case("ResizeObservation", {"shape": (30, 20)}, "image"),
    Case("StickyAction", {"repeat_action_probability": 0.5}),
    Case(
        "StickyAction",
        {"repeat_action_probability": 0.3, "repeat_action_duration": (1, 4)},
        action="box",
    ),
    Case("StickyAction", {"repeat_action_probability": 0.4, "repeat_action_duration": 3}),
    Case("TimeAwareObservation", inner=limited),
    Case("TimeAwareObservation", {"normalize_time": True}, inner=limited),
    Case("TimeAwareObservation", {"flatten": False}, inner=limited),
    Case(
        "TimeAwareObservation", {"flatten": False, "dict_time_key": "clock"}, "dict", inner=limited
    ),
    Case("TimeAwareObservation", {"flatten": True}, "dict", inner=limited),
    Case(
        "TimeAwareObservation", {"flatten": False, "normalize_time": True}, "tuple", inner=limited
    ),
    Case("TimeLimit", {"max_episode_steps": 5}),
    Case("TransformAction", {"func": double, "action_space": None}, action="box"),
    Case(
        "TransformAction",
        {"func": int, "action_space": FromLib(lambda lib: lib.spaces.Discrete(2))},
    ),
    Case(
        "TransformObservation",
        {"func": double, "observation_space": FromLib(lambda lib: lib.spaces.Box(-4, 4, (3,)))},
    ),
    Case("TransformReward", {"func": double}),
]
