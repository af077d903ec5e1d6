"""Gymnasium's module path for :mod:`ludus.seeding`."""

from __future__ import annotations

from ludus.seeding import RNG, RandomNumberGenerator, np_random

__all__ = ["RNG", "RandomNumberGenerator", "np_random"]
