"""Gymnasium's module path for :class:`ludus.core.EzPickle`."""

from __future__ import annotations

from ludus.core import EzPickle

__all__ = ["EzPickle"]
