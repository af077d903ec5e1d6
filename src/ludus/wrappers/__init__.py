"""Wrappers: environments that change another environment, one module each.

A wrapper's module is imported on first use: ``ludus.wrappers.TimeLimit`` imports
``ludus.wrappers.time_limit``. Old names (``FrameStack``, ``SkipWrapper``, …) are in
:mod:`ludus.wrappers.legacy`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ludus.lazy import lazy_modules, lazy_names

if TYPE_CHECKING:
    from ludus.wrappers import vector
    from ludus.wrappers.add_render_observation import AddRenderObservation
    from ludus.wrappers.add_white_noise import AddWhiteNoise
    from ludus.wrappers.array_conversion import (
        ArrayConversion,
        JaxToNumpy,
        JaxToTorch,
        NumpyToTorch,
    )
    from ludus.wrappers.atari_preprocessing import AtariPreprocessing
    from ludus.wrappers.autoreset import Autoreset
    from ludus.wrappers.clip_action import ClipAction
    from ludus.wrappers.clip_reward import ClipReward
    from ludus.wrappers.delay_observation import DelayObservation
    from ludus.wrappers.discretize_action import DiscretizeAction
    from ludus.wrappers.discretize_observation import DiscretizeObservation
    from ludus.wrappers.dtype_observation import DtypeObservation
    from ludus.wrappers.filter_observation import FilterObservation
    from ludus.wrappers.flatten_observation import FlattenObservation
    from ludus.wrappers.frame_stack_observation import FrameStackObservation
    from ludus.wrappers.grayscale_observation import GrayscaleObservation
    from ludus.wrappers.human_rendering import HumanRendering
    from ludus.wrappers.legacy import (
        AutoResetWrapper,
        EnvCompatibility,
        FilterObservationWrapper,
        FlattenDictWrapper,
        FrameStack,
        GrayScaleObservation,
        LazyFrames,
        PixelObservationWrapper,
        SignReward,
        SkipWrapper,
        StepAPICompatibility,
        capped_cubic_video_schedule,
    )
    from ludus.wrappers.max_and_skip_observation import MaxAndSkipObservation
    from ludus.wrappers.normalize_observation import NormalizeObservation
    from ludus.wrappers.normalize_reward import NormalizeReward
    from ludus.wrappers.obstruct_view import ObstructView
    from ludus.wrappers.order_enforcing import OrderEnforcing
    from ludus.wrappers.passive_env_checker import PassiveEnvChecker
    from ludus.wrappers.record_episode_statistics import RecordEpisodeStatistics
    from ludus.wrappers.record_video import RecordVideo
    from ludus.wrappers.render_collection import RenderCollection
    from ludus.wrappers.repeat_action import RepeatAction
    from ludus.wrappers.rescale_action import RescaleAction
    from ludus.wrappers.rescale_observation import RescaleObservation
    from ludus.wrappers.reshape_observation import ReshapeObservation
    from ludus.wrappers.resize_observation import ResizeObservation
    from ludus.wrappers.sticky_action import StickyAction
    from ludus.wrappers.time_aware_observation import TimeAwareObservation
    from ludus.wrappers.time_limit import TimeLimit
    from ludus.wrappers.transform_action import TransformAction
    from ludus.wrappers.transform_observation import TransformObservation
    from ludus.wrappers.transform_reward import TransformReward
    from ludus.wrappers.vector import DictInfoToList as VectorListInfo

__all__ = [
    "AddRenderObservation",
    "AddWhiteNoise",
    "ArrayConversion",
    "AtariPreprocessing",
    "AutoResetWrapper",
    "Autoreset",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "EnvCompatibility",
    "FilterObservation",
    "FilterObservationWrapper",
    "FlattenDictWrapper",
    "FlattenObservation",
    "FrameStack",
    "FrameStackObservation",
    "GrayScaleObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "JaxToNumpy",
    "JaxToTorch",
    "LazyFrames",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "NumpyToTorch",
    "ObstructView",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "PixelObservationWrapper",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "RepeatAction",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "SignReward",
    "SkipWrapper",
    "StepAPICompatibility",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "VectorListInfo",
    "capped_cubic_video_schedule",
    "vector",
]

_LEGACY = (
    "AutoResetWrapper EnvCompatibility FilterObservationWrapper FlattenDictWrapper FrameStack "
    "GrayScaleObservation LazyFrames PixelObservationWrapper SignReward SkipWrapper "
    "StepAPICompatibility capped_cubic_video_schedule"
)
_CONVERSIONS = {
    "jax_to_numpy": "JaxToNumpy jax_to_numpy numpy_to_jax",
    "jax_to_torch": "Device JaxToTorch jax_to_torch torch_to_jax",
    "numpy_to_torch": "Device NumpyToTorch numpy_to_torch torch_to_numpy",
}
"""Gymnasium's modules whose names live in ``array_conversion`` here."""


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


__getattr__ = lazy_names(
    __name__,
    {name: _snake_case(name) for name in __all__ if name != "vector"}
    | dict.fromkeys(_LEGACY.split(), "legacy")
    | dict.fromkeys(("JaxToNumpy", "JaxToTorch", "NumpyToTorch"), "array_conversion")
    | {"VectorListInfo": "vector:DictInfoToList"},
    modules=("vector",),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_GATHERED = {
    "common": "Autoreset OrderEnforcing PassiveEnvChecker RecordEpisodeStatistics TimeLimit",
    "rendering": "AddWhiteNoise HumanRendering ObstructView RecordVideo RenderCollection",
    "stateful_action": "RepeatAction StickyAction",
    "stateful_observation": "DelayObservation FrameStackObservation MaxAndSkipObservation "
    "NormalizeObservation TimeAwareObservation",
    "stateful_reward": "NormalizeReward",
}
"""Gymnasium's modules with several wrappers, which have a module each here."""


def _homes(names: str, module: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), module)


lazy_modules(
    __name__,
    {module: _homes(names, __name__) for module, names in _GATHERED.items()}
    | {
        module: _homes(names, f"{__name__}.array_conversion")
        for module, names in _CONVERSIONS.items()
    },
)
