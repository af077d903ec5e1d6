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
    from ludus.wrappers.vector.dict_info_to_list import DictInfoToList
    from ludus.wrappers.vector.dict_info_to_list import DictInfoToList as VectorListInfo
    from ludus.wrappers.vector.human_rendering import HumanRendering
    from ludus.wrappers.vector.normalize_observation import NormalizeObservation
    from ludus.wrappers.vector.normalize_reward import NormalizeReward
    from ludus.wrappers.vector.record_episode_statistics import RecordEpisodeStatistics
    from ludus.wrappers.vector.record_video import RecordVideo
    from ludus.wrappers.vector.transform_action import TransformAction
    from ludus.wrappers.vector.transform_observation import TransformObservation
    from ludus.wrappers.vector.transform_reward import TransformReward
    from ludus.wrappers.vector.vectorize_action import (
        ClipAction,
        RescaleAction,
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
        VectorizeTransformObservation,
    )
    from ludus.wrappers.vector.vectorize_reward import ClipReward, VectorizeTransformReward

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
    "dict_info_to_list": "DictInfoToList",
    "human_rendering": "HumanRendering",
    "normalize_observation": "NormalizeObservation",
    "normalize_reward": "NormalizeReward",
    "record_episode_statistics": "RecordEpisodeStatistics",
    "record_video": "RecordVideo",
    "transform_action": "TransformAction",
    "transform_observation": "TransformObservation",
    "transform_reward": "TransformReward",
    "vectorize_action": "ClipAction RescaleAction VectorizeTransformAction",
    "vectorize_observation": "DtypeObservation FilterObservation FlattenObservation "
    "GrayscaleObservation RescaleObservation ReshapeObservation ResizeObservation "
    "VectorizeTransformObservation",
    "vectorize_reward": "ClipReward VectorizeTransformReward",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}
_OLD_NAMES = {"VectorListInfo": "dict_info_to_list:DictInfoToList"}

__getattr__ = lazy_names(__name__, _MODULES | _OLD_NAMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_GATHERED = {
    "common": "RecordEpisodeStatistics",
    "jax_to_numpy": "JaxToNumpy",
    "jax_to_torch": "JaxToTorch",
    "numpy_to_torch": "NumpyToTorch",
    "rendering": "HumanRendering RecordVideo",
    "stateful_observation": "NormalizeObservation",
    "stateful_reward": "NormalizeReward",
}
"""Gymnasium's modules whose wrappers live in other modules here."""

lazy_modules(
    __name__,
    {module: dict.fromkeys(names.split(), __name__) for module, names in _GATHERED.items()},
)
