"""Gymnasium's module path for :mod:`ludus.core.colorize`."""

from __future__ import annotations

from ludus.core.colorize import color2num, colorize

__all__ = ["color2num", "colorize"]
