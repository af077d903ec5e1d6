"""Experimental APIs, which may still change."""

from __future__ import annotations

from ludus.experimental import functional

__all__ = ["functional"]
