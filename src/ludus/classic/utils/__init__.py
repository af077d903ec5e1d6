"""What environment authors imported from classic Gym's ``utils``."""

from __future__ import annotations

from ludus.classic.utils import seeding
from ludus.core.colorize import colorize
from ludus.core.constructor_args import EzPickle

__all__ = ["EzPickle", "colorize", "seeding"]
