"""Gym's ``utils`` package."""

from __future__ import annotations

from ludus.classic.utils import seeding
from ludus.core.colorize import colorize
from ludus.core.constructor_args import EzPickle

__all__ = ["EzPickle", "colorize", "seeding"]
