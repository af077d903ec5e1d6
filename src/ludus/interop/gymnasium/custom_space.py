"""Spaces of Ludus that have no counterpart in Gymnasium, as Gymnasium spaces."""

from __future__ import annotations

from typing import Any

from ludus.interop.gymnasium.library import gymnasium
from ludus.spaces import Space

__all__ = ["CustomSpace"]


class CustomSpace(gymnasium.Space):  # type: ignore[misc]
    """A Gymnasium space with the members and the samples of a Ludus space.

    Args:
        space: The Ludus space; it is asked for everything.
    """

    def __init__(self, space: Space[Any]) -> None:
        self.ludus_space = space
        super().__init__(space.shape, space.dtype)

    @property
    def is_np_flattenable(self) -> bool:
        """Whether members can be flattened to arrays."""
        return self.ludus_space.is_np_flattenable

    @property
    def np_random(self) -> Any:
        """The generator of samples."""
        return self.ludus_space.np_random

    def seed(self, seed: Any = None) -> Any:
        """Seed the generator of samples."""
        return self.ludus_space.seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw a member."""
        return self.ludus_space.sample(mask=mask, probability=probability)

    def contains(self, x: Any) -> bool:
        """Tell whether ``x`` is a member."""
        return self.ludus_space.contains(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomSpace) and self.ludus_space == other.ludus_space

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CustomSpace({self.ludus_space!r})"

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(dict(state))
