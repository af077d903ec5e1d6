"""Conversion of spaces between the two libraries."""

from __future__ import annotations

from typing import Any

from ludus import spaces as ludus_spaces
from ludus.core.foreign.space import ForeignSpace
from ludus.core.foreign.spaces import no_counterpart, rebuild
from ludus.interop.gymnasium.library import gymnasium
from ludus.spaces import Space

__all__ = ["CustomSpace", "from_gymnasium_space", "to_gymnasium_space"]


def to_gymnasium_space(space: Space[Any]) -> Any:
    """Return the equivalent Gymnasium space, with the same random state.

    A Gymnasium space is returned unchanged. A custom space, or a custom part of a space, becomes a
    :class:`CustomSpace`.

    Raises:
        CustomSpaceError: ``space`` is not a space.

    >>> from ludus.spaces import Discrete
    >>> to_gymnasium_space(Discrete(3))
    Discrete(3)
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
    """Return the equivalent Ludus space, with the same random state.

    A Ludus space is returned unchanged. A custom space, or a custom part of a space, becomes a
    :class:`~ludus.core.foreign.space.ForeignSpace` around a copy.

    Raises:
        CustomSpaceError: ``space`` is not a space.
    """
    if isinstance(space, Space):
        return space
    built: Space[Any] = rebuild(space, ludus_spaces, _ludus_part)
    return built


def _ludus_part(part: Any) -> Space[Any]:
    return part.ludus_space if isinstance(part, CustomSpace) else ForeignSpace(part)


class CustomSpace(gymnasium.Space):  # type: ignore[misc]
    """A Gymnasium space that delegates to a Ludus space without a Gymnasium counterpart."""

    def __init__(self, space: Space[Any]) -> None:
        self.ludus_space = space
        super().__init__(space.shape, space.dtype)

    @property
    def is_np_flattenable(self) -> bool:
        """Whether elements can be flattened to arrays."""
        return self.ludus_space.is_np_flattenable

    @property
    def np_random(self) -> Any:
        """The generator of samples."""
        return self.ludus_space.np_random

    def seed(self, seed: Any = None) -> Any:
        """Seed the generator of samples."""
        return self.ludus_space.seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw a sample."""
        return self.ludus_space.sample(mask=mask, probability=probability)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is an element."""
        return self.ludus_space.contains(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomSpace) and self.ludus_space == other.ludus_space

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CustomSpace({self.ludus_space!r})"

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(dict(state))
