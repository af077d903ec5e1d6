"""Versions that were written for an engine of the past."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["retired"]


def retired(*, name: str, version: int, **kwargs: Any) -> NoReturn:
    """Explain what to use instead.

    Raises:
        ImportError: Always, as in Gymnasium.
    """
    raise ImportError(
        f"{name}-v{version} belongs to the mujoco v2 and v3 based environments, which need "
        f"mujoco-py; use {name}-v5, or {name}-v4 for rewards close to the old ones."
    )
