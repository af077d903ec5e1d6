"""Wrappers: environments that change another environment, in Gymnasium's modules.

A module is imported on first use of one of its wrappers: ``ludus.wrappers.TimeLimit`` imports
``ludus.wrappers.common``. Old names (``FrameStack``, ``SkipWrapper``, …) are in
:mod:`ludus.wrappers.legacy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_modules, lazy_names

if TYPE_CHECKING:
    from ludus.wrappers import vector
    from ludus.wrappers.array_conversion import (
        ArrayConversion,
        JaxToNumpy,
        JaxToTorch,
        NumpyToTorch,
    )
    from ludus.wrappers.atari_preprocessing import AtariPreprocessing
    from ludus.wrappers.common import Autoreset, OrderEnforcing, RecordEpisodeStatistics, TimeLimit
    from ludus.wrappers.image_observation import (
        AddRenderObservation,
        GrayscaleObservation,
        ResizeObservation,
    )
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
    from ludus.wrappers.passive_env_checker import PassiveEnvChecker
    from ludus.wrappers.rendering import (
        AddWhiteNoise,
        HumanRendering,
        ObstructView,
        RecordVideo,
        RenderCollection,
    )
    from ludus.wrappers.stateful_action import RepeatAction, StickyAction
    from ludus.wrappers.stateful_observation import (
        DelayObservation,
        FrameStackObservation,
        MaxAndSkipObservation,
        NormalizeObservation,
        TimeAwareObservation,
    )
    from ludus.wrappers.stateful_reward import NormalizeReward
    from ludus.wrappers.transform_action import (
        ClipAction,
        DiscretizeAction,
        RescaleAction,
        TransformAction,
    )
    from ludus.wrappers.transform_observation import (
        DiscretizeObservation,
        DtypeObservation,
        FilterObservation,
        FlattenObservation,
        RescaleObservation,
        ReshapeObservation,
        TransformObservation,
    )
    from ludus.wrappers.transform_reward import ClipReward, TransformReward
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

_HOMES = {
    "array_conversion": "ArrayConversion JaxToNumpy JaxToTorch NumpyToTorch",
    "atari_preprocessing": "AtariPreprocessing",
    "common": "Autoreset OrderEnforcing RecordEpisodeStatistics TimeLimit",
    "image_observation": "AddRenderObservation GrayscaleObservation ResizeObservation",
    "legacy": "AutoResetWrapper EnvCompatibility FilterObservationWrapper FlattenDictWrapper "
    "FrameStack GrayScaleObservation LazyFrames PixelObservationWrapper SignReward SkipWrapper "
    "StepAPICompatibility capped_cubic_video_schedule",
    "passive_env_checker": "PassiveEnvChecker",
    "rendering": "AddWhiteNoise HumanRendering ObstructView RecordVideo RenderCollection",
    "stateful_action": "RepeatAction StickyAction",
    "stateful_observation": "DelayObservation FrameStackObservation MaxAndSkipObservation "
    "NormalizeObservation TimeAwareObservation",
    "stateful_reward": "NormalizeReward",
    "transform_action": "ClipAction DiscretizeAction RescaleAction TransformAction",
    "transform_observation": "DiscretizeObservation DtypeObservation FilterObservation "
    "FlattenObservation RescaleObservation ReshapeObservation TransformObservation",
    "transform_reward": "ClipReward TransformReward",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__getattr__ = lazy_names(
    __name__,
    _MODULES | {"VectorListInfo": "vector:DictInfoToList"},
    modules=("utils", "vector", *_HOMES),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOMES})


_CONVERSIONS = {
    "jax_to_numpy": "JaxToNumpy jax_to_numpy numpy_to_jax",
    "jax_to_torch": "Device JaxToTorch jax_to_torch torch_to_jax",
    "numpy_to_torch": "Device NumpyToTorch numpy_to_torch torch_to_numpy",
}
"""Gymnasium's modules whose names live in ``array_conversion`` here."""

lazy_modules(
    __name__,
    {
        module: dict.fromkeys(names.split(), f"{__name__}.array_conversion")
        for module, names in _CONVERSIONS.items()
    },
)
