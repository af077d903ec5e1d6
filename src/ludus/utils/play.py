"""Gymnasium's module path for :mod:`ludus.play`."""

from __future__ import annotations

from ludus.play import MissingKeysToAction, PlayableGame, PlayPlot, display_arr, play

__all__ = ["MissingKeysToAction", "PlayPlot", "PlayableGame", "display_arr", "play"]
