"""Gymnasium's module path for :class:`ludus.core.RecordConstructorArgs`."""

from __future__ import annotations

from ludus.core import RecordConstructorArgs

__all__ = ["RecordConstructorArgs"]
