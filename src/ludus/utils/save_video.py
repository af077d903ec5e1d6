"""Gymnasium's module path for :mod:`ludus.play.video`."""

from __future__ import annotations

from ludus.play.video import capped_cubic_video_schedule, save_video

__all__ = ["capped_cubic_video_schedule", "save_video"]
