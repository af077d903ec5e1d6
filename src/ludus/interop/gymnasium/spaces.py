"""Spaces, converted between the two libraries."""

from __future__ import annotations

from typing import Any

from ludus.core.foreign_spaces import from_foreign, rebuild
from ludus.errors import CustomSpaceError
from ludus.interop.gymnasium.custom_space import CustomSpace
from ludus.interop.gymnasium.library import gymnasium
from ludus.spaces import Space

__all__ = ["from_gymnasium_space", "to_gymnasium_space"]


def to_gymnasium_space(space: Space[Any]) -> Any:
    """Return the Gymnasium space with the same members, which continues the same samples.

    A space that is a Gymnasium space already is returned as it is. A space that is none of the
    standard ones, or has such a part, becomes one that asks the Ludus space.

    Raises:
        CustomSpaceError: It is no space.
    """
    if isinstance(space, gymnasium.Space):
        return space
    try:
        return rebuild(space, gymnasium.spaces)
    except CustomSpaceError:
        if not isinstance(space, Space):
            raise
        return CustomSpace(space)


def from_gymnasium_space(space: Any) -> Space[Any]:
    """Return the Ludus space with the same members, which continues the same samples.

    A space that is a Ludus space already is returned as it is, and one that asks a Ludus space
    gives that one back.

    Raises:
        CustomSpaceError: The space, or a part of it, is none of the standard ones.
    """
    return space.ludus_space if isinstance(space, CustomSpace) else from_foreign(space)
