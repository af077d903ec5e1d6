"""Spaces, converted between the two libraries."""

from __future__ import annotations

from typing import Any

from ludus.core.foreign_space import ForeignSpace
from ludus.core.foreign_spaces import from_foreign, no_counterpart, rebuild
from ludus.interop.gymnasium.library import gymnasium
from ludus.spaces import Space

__all__ = ["from_gymnasium_space", "to_gymnasium_space"]


def to_gymnasium_space(space: Space[Any]) -> Any:
    """Return the Gymnasium space with the same members, which continues the same samples.

    A space that is a Gymnasium space already is returned as it is.

    Raises:
        CustomSpaceError: The space, or a part of it, is none of the standard ones.
    """
    if isinstance(space, gymnasium.Space):
        return space
    return rebuild(space, gymnasium.spaces, _original)


def _original(part: Any) -> Any:
    if isinstance(part, ForeignSpace) and isinstance(part.original, gymnasium.Space):
        return part.original
    raise no_counterpart(part)


def from_gymnasium_space(space: Any) -> Space[Any]:
    """Return the Ludus space with the same members, which continues the same samples.

    A space that is a Ludus space already is returned as it is. A space, or a part of one, that is
    none of the standard ones becomes a space that asks a copy of the original.

    Raises:
        CustomSpaceError: It is no space.
    """
    return from_foreign(space)
