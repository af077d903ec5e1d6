"""Wrappers of vector environments; each is imported on first use.

Example:
    >>> envs = TransformReward(ludus.make_vec("CartPole-v1", 2), lambda rewards: 10 * rewards)
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.array([0, 1]))[1]
    array([10., 10.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_modules, lazy_names

if TYPE_CHECKING:
    from ludus.wrappers.vector.array_conversion import (
        ArrayConversion,
        JaxToNumpy,
        JaxToTorch,
        NumpyToTorch,
    )
    from ludus.wrappers.vector.common import RecordEpisodeStatistics
    from ludus.wrappers.vector.dict_info_to_list import DictInfoToList
    from ludus.wrappers.vector.dict_info_to_list import DictInfoToList as VectorListInfo
    from ludus.wrappers.vector.rendering import HumanRendering, RecordVideo
    from ludus.wrappers.vector.stateful_observation import NormalizeObservation
    from ludus.wrappers.vector.stateful_reward import NormalizeReward
    from ludus.wrappers.vector.vectorize_action import (
        ClipAction,
        RescaleAction,
        TransformAction,
        VectorizeTransformAction,
    )
    from ludus.wrappers.vector.vectorize_observation import (
        DtypeObservation,
        FilterObservation,
        FlattenObservation,
        GrayscaleObservation,
        RescaleObservation,
        ReshapeObservation,
        ResizeObservation,
        TransformObservation,
        VectorizeTransformObservation,
    )
    from ludus.wrappers.vector.vectorize_reward import (
        ClipReward,
        TransformReward,
        VectorizeTransformReward,
    )

__all__ = [
    "ArrayConversion",
    "ClipAction",
    "ClipReward",
    "DictInfoToList",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "JaxToNumpy",
    "JaxToTorch",
    "NormalizeObservation",
    "NormalizeReward",
    "NumpyToTorch",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "VectorListInfo",
    "VectorizeTransformAction",
    "VectorizeTransformObservation",
    "VectorizeTransformReward",
]

_HOMES = {
    "array_conversion": "ArrayConversion JaxToNumpy JaxToTorch NumpyToTorch",
    "common": "RecordEpisodeStatistics",
    "dict_info_to_list": "DictInfoToList",
    "rendering": "HumanRendering RecordVideo",
    "stateful_observation": "NormalizeObservation",
    "stateful_reward": "NormalizeReward",
    "vectorize_action": "ClipAction RescaleAction TransformAction VectorizeTransformAction",
    "vectorize_observation": "DtypeObservation FilterObservation FlattenObservation "
    "GrayscaleObservation RescaleObservation ReshapeObservation ResizeObservation "
    "TransformObservation VectorizeTransformObservation",
    "vectorize_reward": "ClipReward TransformReward VectorizeTransformReward",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}
_OLD_NAMES = {"VectorListInfo": "dict_info_to_list:DictInfoToList"}

__getattr__ = lazy_names(__name__, _MODULES | _OLD_NAMES, modules=_HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOMES})


lazy_modules(
    __name__,
    {
        module: {name: __name__}
        for module, name in (
            ("jax_to_numpy", "JaxToNumpy"),
            ("jax_to_torch", "JaxToTorch"),
            ("numpy_to_torch", "NumpyToTorch"),
        )
    },
)
