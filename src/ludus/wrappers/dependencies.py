"""Old place of :mod:`ludus.optional`."""

from __future__ import annotations

from ludus.optional import check_installed, require

__all__ = ["check_installed", "require"]
