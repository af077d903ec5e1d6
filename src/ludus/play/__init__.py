"""Interactive play with the keyboard, live plots, and videos."""

from __future__ import annotations

from ludus.play.game import PlayableGame, display_arr
from ludus.play.keys import MissingKeysToAction
from ludus.play.loop import play
from ludus.play.plot import PlayPlot
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
