"""Argument checks of the wrappers' constructors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ludus.spaces import Box

if TYPE_CHECKING:
    from ludus.core import Wrapper

__all__ = ["check_count", "require_box"]


def check_count(name: str, value: object, *, at_least: int) -> int:
    """Return ``value`` if it is an integer not below ``at_least``.

    Raises:
        TypeError: It is not a Python or NumPy integer, or it is a bool.
        ValueError: It is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an integer, actual type: {type(value)}.")
    if value < at_least:
        raise ValueError(f"`{name}` must be {at_least} or greater, actual value: {value}.")
    return int(value)


def require_box(wrapper: type[Wrapper], kind: str, space: object) -> Box:
    """Return ``space`` if it is a :class:`Box`; ``kind`` is ``"action"`` or ``"observation"``.

    Raises:
        TypeError: It is another space.
    """
    if not isinstance(space, Box):
        raise TypeError(
            f"{wrapper.__name__} needs a Box as {kind} space, got {type(space)}: {space}."
        )
    return space
