"""Recorders of the Monitor wrapper."""

from __future__ import annotations

from ludus.classic.wrappers.monitoring.stats_recorder import StatsRecorder
from ludus.classic.wrappers.monitoring.video_recorder import VideoRecorder

__all__ = ["StatsRecorder", "VideoRecorder"]
