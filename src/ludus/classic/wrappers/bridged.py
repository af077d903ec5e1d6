"""Gym's wrappers that are implemented by Ludus wrappers.

The classic environment is adapted to Ludus, wrapped, and adapted back to the classic API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ludus import wrappers
from ludus.classic.core import Wrapper
from ludus.classic.from_ludus import FromLudus
from ludus.core.foreign.classic_adapter import ClassicAdapter

__all__ = [
    "AtariPreprocessing",
    "BridgedWrapper",
    "ClipAction",
    "ClipReward",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "GrayScaleObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RescaleAction",
    "ResizeObservation",
    "SignReward",
    "TransformObservation",
    "TransformReward",
]


class BridgedWrapper(Wrapper):
    """A classic wrapper that is implemented by a Ludus wrapper.

    It has the public attributes of the Ludus wrapper (``obs_rms``, ``return_queue``, …).
    """

    _successor: ClassVar[str]
    _translate: ClassVar[Callable[..., dict[str, Any]]]

    def __init__(self, env: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(env)
        arguments = type(self)._translate(*args, **kwargs)
        inner = ClassicAdapter(env, arguments.pop("render_mode", None))
        self._outer = FromLudus(getattr(wrappers, self._successor)(inner, **arguments))
        self.action_space = self._outer.action_space
        self.observation_space = self._outer.observation_space

    def __getattr__(self, name: str) -> Any:
        outer = self.__dict__.get("_outer")
        if outer is not None and not name.startswith("_") and hasattr(outer.ludus_env, name):
            return getattr(outer.ludus_env, name)
        return super().__getattr__(name)

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step."""
        return self._outer.step(action)

    def reset(self, **kwargs: Any) -> Any:
        """Reset."""
        return self._outer.reset()

    def close(self) -> None:
        """Close the environment."""
        self._outer.close()


def _bridge(
    name: str, successor: str, translate: Callable[..., dict[str, Any]]
) -> type[BridgedWrapper]:
    fields = {
        "__doc__": f"Gym's ``{name}``, implemented by :class:`ludus.wrappers.{successor}`.",
        "__module__": __name__,
        "_successor": successor,
        "_translate": staticmethod(translate),
    }
    return type(name, (BridgedWrapper,), fields)


def _no_arguments() -> dict[str, Any]:
    return {}


def _atari(
    noop_max: int = 30,
    frame_skip: int = 4,
    screen_size: int = 84,
    terminal_on_life_loss: bool = False,
    grayscale_obs: bool = True,
    grayscale_newaxis: bool = False,
    scale_obs: bool = False,
) -> dict[str, Any]:
    return dict(locals())


def _record_video(
    video_folder: str,
    episode_trigger: Any = None,
    step_trigger: Any = None,
    video_length: int = 0,
    name_prefix: str = "rl-video",
) -> dict[str, Any]:
    return {**locals(), "render_mode": "rgb_array"}


def _resize(shape: int | tuple[int, int]) -> dict[str, Any]:
    return {"shape": (shape, shape) if isinstance(shape, int) else tuple(shape)}


def _rescale(a: Any, b: Any) -> dict[str, Any]:
    return {"min_action": a, "max_action": b}


def _clip_reward(min_r: float, max_r: float) -> dict[str, Any]:
    return {"min_reward": min_r, "max_reward": max_r}


AtariPreprocessing = _bridge("AtariPreprocessing", "AtariPreprocessing", _atari)
ClipAction = _bridge("ClipAction", "ClipAction", _no_arguments)
ClipReward = _bridge("ClipReward", "ClipReward", _clip_reward)
FilterObservation = _bridge(
    "FilterObservation", "FilterObservation", lambda filter_keys: {"filter_keys": filter_keys}
)
FlattenObservation = _bridge("FlattenObservation", "FlattenObservation", _no_arguments)
FrameStack = _bridge(
    "FrameStack",
    "FrameStackObservation",
    lambda num_stack, lz4_compress=False: {"stack_size": num_stack},  # noqa: ARG005
)
GrayScaleObservation = _bridge(
    "GrayScaleObservation", "GrayscaleObservation", lambda keep_dim=False: {"keep_dim": keep_dim}
)
NormalizeObservation = _bridge(
    "NormalizeObservation", "NormalizeObservation", lambda epsilon=1e-8: {"epsilon": epsilon}
)
NormalizeReward = _bridge(
    "NormalizeReward",
    "NormalizeReward",
    lambda gamma=0.99, epsilon=1e-8: {"gamma": gamma, "epsilon": epsilon},
)
RecordEpisodeStatistics = _bridge(
    "RecordEpisodeStatistics",
    "RecordEpisodeStatistics",
    lambda deque_size=100: {"buffer_length": deque_size},
)
RecordVideo = _bridge("RecordVideo", "RecordVideo", _record_video)
RescaleAction = _bridge("RescaleAction", "RescaleAction", _rescale)
ResizeObservation = _bridge("ResizeObservation", "ResizeObservation", _resize)
SignReward = _bridge("SignReward", "TransformReward", lambda: {"func": np.sign})
TransformObservation = _bridge(
    "TransformObservation",
    "TransformObservation",
    lambda f: {"func": f, "observation_space": None},
)
TransformReward = _bridge("TransformReward", "TransformReward", lambda f: {"func": f})
