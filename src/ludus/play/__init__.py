"""Interactive play with the keyboard, live plots, and videos."""

from __future__ import annotations

from ludus.play.game import MissingKeysToAction, PlayableGame, PlayPlot, display_arr, play
from ludus.play.video import capped_cubic_video_schedule, save_video

__all__ = [
    "MissingKeysToAction",
    "PlayPlot",
    "PlayableGame",
    "capped_cubic_video_schedule",
    "display_arr",
    "play",
    "save_video",
]
