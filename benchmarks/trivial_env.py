"""A step through each wrapper, over an environment that does nothing itself, in either library."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from types import ModuleType
from typing import Any, ClassVar

import gymnasium
import numpy as np
from measure import Side

__all__ = ["LIBRARY_BOUND", "WRAPPERS", "wrapped"]

LENGTH = 200
FRAME = np.arange(96 * 96 * 3, dtype=np.uint8).reshape(96, 96, 3)
PLAIN = np.linspace(0.1, 0.9, 4, dtype=np.float32)


def trivial(
    library: ModuleType,
    seen: Any = PLAIN,
    *,
    action: str = "discrete",
    mode: str | None = None,
) -> Any:
    """Return an environment of that library whose episodes last 200 steps and show ``seen``."""
    spaces = library.spaces
    if isinstance(seen, dict):
        space = spaces.Dict({key: spaces.Box(0.0, 1.0, (4,), np.float32) for key in seen})
    elif seen is FRAME:
        space = spaces.Box(0, 255, FRAME.shape, np.uint8)
    else:
        space = spaces.Box(0.0, 1.0, (4,), np.float32)

    class Trivial(library.Env):  # type: ignore[name-defined, misc]
        metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10**6}
        observation_space = space
        action_space = (
            spaces.Discrete(2) if action == "discrete" else spaces.Box(-1.0, 1.0, (2,), np.float32)
        )
        render_mode = mode
        steps = 0

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.steps = 0
            return seen, {}

        def step(self, _: Any) -> Any:
            self.steps += 1
            return seen, 0.5, False, self.steps >= LENGTH, {}

        def render(self) -> Any:
            return FRAME

    return Trivial()


def pong(library: ModuleType) -> Any:
    import ale_py

    gymnasium.register_envs(ale_py)
    return library.make("PongNoFrameskip-v4")


def limited(library: ModuleType) -> Any:
    return library.wrappers.TimeLimit(trivial(library), LENGTH)


def with_jax(library: ModuleType) -> Any:
    import jax.numpy as jnp

    return trivial(library, jnp.asarray(PLAIN))


def plain(library: ModuleType) -> Any:
    return trivial(library)


def image(library: ModuleType) -> Any:
    return trivial(library, FRAME)


def drawn(library: ModuleType) -> Any:
    return trivial(library, mode="rgb_array")


def continuous(library: ModuleType) -> Any:
    return trivial(library, action="continuous")


def several(library: ModuleType) -> Any:
    return trivial(library, {"a": PLAIN, "b": PLAIN})


def arrays() -> dict[str, Any]:
    import jax.numpy as jnp

    return {"env_xp": jnp, "target_xp": np}


def video() -> dict[str, Any]:
    # Every second episode, so that steps with and without a frame are measured.
    folder = tempfile.mkdtemp(prefix="never_slower_")
    return {"video_folder": folder, "episode_trigger": lambda episode: episode % 2 == 0}


def no_options() -> dict[str, Any]:
    return {}


def fixed(**options: Any) -> Callable[[], dict[str, Any]]:
    return lambda: options


Case = tuple[Callable[[ModuleType], Any], Callable[[], dict[str, Any]]]

WRAPPERS: dict[str, Case] = {
    "AddRenderObservation": (drawn, no_options),
    "AddWhiteNoise": (drawn, fixed(probability_of_noise_per_pixel=0.1)),
    "ArrayConversion": (with_jax, arrays),
    "AtariPreprocessing": (pong, no_options),
    "Autoreset": (plain, no_options),
    "ClipAction": (continuous, no_options),
    "ClipReward": (plain, fixed(min_reward=-0.1, max_reward=0.1)),
    "DelayObservation": (plain, fixed(delay=3)),
    "DiscretizeAction": (continuous, fixed(bins=5)),
    "DiscretizeObservation": (plain, fixed(bins=5)),
    "DtypeObservation": (plain, fixed(dtype=np.float64)),
    "FilterObservation": (several, fixed(filter_keys=["a"])),
    "FlattenObservation": (several, no_options),
    "FrameStackObservation": (image, fixed(stack_size=4)),
    "GrayscaleObservation": (image, no_options),
    "HumanRendering": (drawn, no_options),
    "JaxToNumpy": (with_jax, no_options),
    "JaxToTorch": (with_jax, no_options),
    "MaxAndSkipObservation": (image, fixed(skip=4)),
    "NormalizeObservation": (plain, no_options),
    "NormalizeReward": (plain, no_options),
    "NumpyToTorch": (plain, no_options),
    "ObstructView": (drawn, fixed(obstructed_pixels_ratio=0.1, obstruction_width=4)),
    "OrderEnforcing": (plain, no_options),
    "PassiveEnvChecker": (plain, no_options),
    "RecordEpisodeStatistics": (plain, no_options),
    "RecordVideo": (drawn, video),
    "RenderCollection": (drawn, no_options),
    "RepeatAction": (plain, fixed(num_repeats=2)),
    "RescaleAction": (continuous, fixed(min_action=-2.0, max_action=2.0)),
    "RescaleObservation": (plain, fixed(min_obs=-2.0, max_obs=2.0)),
    "ReshapeObservation": (plain, fixed(shape=(2, 2))),
    "ResizeObservation": (image, fixed(shape=(48, 48))),
    "StickyAction": (plain, fixed(repeat_action_probability=0.25)),
    "TimeAwareObservation": (limited, no_options),
    "TimeLimit": (plain, fixed(max_episode_steps=100)),
    "TransformAction": (plain, fixed(func=lambda action: action, action_space=None)),
    "TransformObservation": (plain, fixed(func=lambda seen: seen, observation_space=None)),
    "TransformReward": (plain, fixed(func=lambda reward: reward)),
}
"""By the name of the wrapper: what it is applied to, and its options."""

LIBRARY_BOUND = (
    *("AddWhiteNoise", "AtariPreprocessing", "HumanRendering", "ObstructView", "RecordVideo"),
    *("ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch", "ResizeObservation"),
)
"""Wrappers that spend about 95 % of the time in ALE, NumPy, OpenCV, pygame, JAX and the like."""

RENDERS = ("AddWhiteNoise", "ObstructView", "RenderCollection")
"""Wrappers that work when ``render`` is called."""


def wrapped(name: str, library: ModuleType) -> Side:
    """Return the side that steps through the wrapper, and resets when an episode ends."""
    build, options = WRAPPERS[name]
    env = getattr(library.wrappers, name)(build(library), **options())
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(100)]
    env.reset(seed=0)
    step, render, turns = env.step, env.render if name in RENDERS else None, count()
    resets = name != "Autoreset"
    # One episode with and one without a video, so that writing the file counts.
    steps_per_call = 2 * LENGTH if name == "RecordVideo" else 1

    def run(calls: int) -> None:
        for _ in range(calls * steps_per_call):
            _, _, terminated, truncated, _ = step(actions[next(turns) % 100])
            if render is not None:
                render()
            if resets and (terminated or truncated):
                env.reset()

    return Side(run, steps_per_call)
