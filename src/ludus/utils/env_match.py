"""Gymnasium's module path for :mod:`ludus.checking.match`."""

from __future__ import annotations

from ludus.checking import check_environments_match, data_equivalence

__all__ = ["check_environments_match", "data_equivalence"]
