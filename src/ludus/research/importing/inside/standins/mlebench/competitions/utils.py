"""Helpers of competitions."""

from __future__ import annotations

from typing import Any

__all__ = ["df_to_csv"]


def df_to_csv(table: Any, **options: Any) -> str:
    """Return a table as CSV text."""
    return str(table.to_csv(**options))
