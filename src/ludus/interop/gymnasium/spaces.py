"""Spaces, converted between the two libraries."""

from __future__ import annotations

from typing import Any

from ludus import spaces as ludus_spaces
from ludus.core.foreign_space import ForeignSpace
from ludus.core.foreign_spaces import no_counterpart, rebuild
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
    return rebuild(space, gymnasium.spaces, _gymnasium_part)


def _gymnasium_part(part: Any) -> Any:
    if isinstance(part, ForeignSpace) and isinstance(part.original, gymnasium.Space):
        return part.original
    if isinstance(part, Space):
        return CustomSpace(part)
    raise no_counterpart(part)


def from_gymnasium_space(space: Any) -> Space[Any]:
    """Return the Ludus space with the same members, which continues the same samples.

    A space that is a Ludus space already is returned as it is. A space, or a part of one, that is
    none of the standard ones becomes a space that asks a copy of the original.

    Raises:
        CustomSpaceError: It is no space.
    """
    if isinstance(space, Space):
        return space
    built: Space[Any] = rebuild(space, ludus_spaces, _ludus_part)
    return built


def _ludus_part(part: Any) -> Space[Any]:
    return part.ludus_space if isinstance(part, CustomSpace) else ForeignSpace(part)
