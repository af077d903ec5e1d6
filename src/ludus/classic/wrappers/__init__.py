"""Gym's wrappers."""

from __future__ import annotations

from ludus.classic.wrappers import monitoring
from ludus.classic.wrappers.bridged import (
    AtariPreprocessing,
    ClipAction,
    ClipReward,
    FilterObservation,
    FlattenObservation,
    FrameStack,
    GrayScaleObservation,
    NormalizeObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    RecordVideo,
    RescaleAction,
    ResizeObservation,
    SignReward,
    TransformObservation,
    TransformReward,
)
from ludus.classic.wrappers.monitor import Monitor, capped_cubic_video_schedule
from ludus.classic.wrappers.own import (
    FlattenDictWrapper,
    OrderEnforcing,
    SkipWrapper,
    TimeAwareObservation,
    TimeLimit,
)

__all__ = [
    "AtariPreprocessing",
    "ClipAction",
    "ClipReward",
    "FilterObservation",
    "FlattenDictWrapper",
    "FlattenObservation",
    "FrameStack",
    "GrayScaleObservation",
    "Monitor",
    "NormalizeObservation",
    "NormalizeReward",
    "OrderEnforcing",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RescaleAction",
    "ResizeObservation",
    "SignReward",
    "SkipWrapper",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformObservation",
    "TransformReward",
    "capped_cubic_video_schedule",
    "monitoring",
]
