"""Sequence: tuples of any length with elements of one space."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceABC
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ludus.spaces import masks
from ludus.spaces.batching import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    differing_as_tuple,
    iterate,
)
from ludus.spaces.errors import SpaceTypeError, SpaceValueError, conversion_hint
from ludus.spaces.space import Space, is_integer, seed_with_parts

__all__ = ["Sequence"]

_STOP_CHANCE = 0.25  # of the geometric distribution of lengths


class Sequence(Space[Any]):
    """Tuples of any length whose parts all belong to one space; with ``stack``, batches of them.

    Args:
        space: The space of the parts.
        seed: Seed from which that of the parts is drawn, a pair of seeds, or a generator.
        stack: Whether a member is a batch (as ``concatenate`` makes it) instead of a tuple.

    Raises:
        SpaceTypeError: ``space`` is not a space.

    Example:
        >>> Sequence(Discrete(9), seed=0).sample()
        (np.int64(3), np.int64(6), np.int64(8))
    """

    feature_space: Space[Any]
    stack: bool
    stacked_feature_space: Space[Any]

    def __init__(
        self,
        space: Space[Any],
        seed: int | SequenceABC[int] | np.random.Generator | None = None,
        stack: bool = False,
    ) -> None:
        if not isinstance(space, Space):
            raise SpaceTypeError(
                f"Sequence takes a Space for its parts, got {space!r} of {type(space)}"
                f"{conversion_hint(space)}"
            )
        self.feature_space = space
        self.stack = stack
        if stack:
            self.stacked_feature_space = batch_space(space, 1)
        super().__init__(None, None, seed)  # type: ignore[arg-type]

    @property
    def is_np_flattenable(self) -> Literal[False]:
        """Never: the length varies."""
        return False

    def seed(self, seed: Any = None) -> tuple[Any, ...]:
        """Seed this space and that of the parts: by ``None``, one int, or a pair of seeds.

        Returns:
            The seed of this space, and the result of seeding the other one.

        Raises:
            SpaceTypeError: The seed is of another type.
            SpaceValueError: There are not two seeds.
        """
        return seed_with_parts(self, seed, [self.feature_space])

    def sample(
        self,
        mask: tuple[Any, Any] | None = None,
        probability: tuple[Any, Any] | None = None,
    ) -> Any:
        """Draw a length, by default from a geometric distribution, and that many elements.

        Args:
            mask: A pair: the length, an array of lengths to choose from, or ``None``; and the mask,
                or ``None``, for each part.
            probability: The same with the probability for each part.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        kind, given = masks.only_one(mask, probability)
        lengths, weights = (None, None) if given is None else given
        length = self.generate_sample_length(lengths, kind)
        parts = tuple([self.feature_space.sample(**{kind: weights}) for _ in range(length)])
        if not self.stack:
            return parts
        room = create_empty_array(self.feature_space, length)
        return concatenate(self.feature_space, parts, room)

    def generate_sample_length(
        self,
        length_mask: int | np.integer[Any] | NDArray[np.integer[Any]] | None,
        mask_type: str | None,
    ) -> Any:
        """Draw a length, or return the given one; ``mask_type`` is used in errors.

        Raises:
            SpaceTypeError: The mask is not an integer, array or ``None``.
            SpaceValueError: It is negative, or not a one-dimensional array of integers.
        """
        if length_mask is None:
            return self.np_random.geometric(_STOP_CHANCE)
        name = f"The length mask of `{mask_type}`"
        if is_integer(length_mask):
            if length_mask < 0:
                raise SpaceValueError(f"{name} must not be negative, got {length_mask}")
            return length_mask
        if not isinstance(length_mask, np.ndarray):
            raise SpaceTypeError(
                f"{name} should be an integer, a np.ndarray of integers or None, "
                f"got {length_mask!r} of {type(length_mask)}"
            )
        if length_mask.ndim != 1:
            raise SpaceValueError(f"{name} should be 1-dimensional, got {length_mask.shape}")
        if length_mask.dtype.kind not in "iu":
            raise SpaceValueError(f"{name} should hold integers, got {length_mask.dtype}")
        if (length_mask < 0).any():
            raise SpaceValueError(f"{name} must not be negative, got {length_mask}")
        return self.np_random.choice(length_mask)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a tuple (or batch) of members of the feature space."""
        if self.stack:
            parts = iterate(self.stacked_feature_space, x)
        elif isinstance(x, tuple):
            parts = iter(x)
        else:
            return False
        return all(self.feature_space.contains(part) for part in parts)

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Convert a batch of members to plain data."""
        if self.stack:
            return self.stacked_feature_space.to_jsonable(sample_n)
        return [self.feature_space.to_jsonable(sample) for sample in sample_n]

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Convert plain data back to members."""
        if self.stack:
            return self.stacked_feature_space.from_jsonable(sample_n)
        return [tuple(self.feature_space.from_jsonable(sample)) for sample in sample_n]

    def __repr__(self) -> str:
        return f"Sequence({self.feature_space}, stack={self.stack})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and self.feature_space == other.feature_space
            and self.stack == other.stack
        )


batch_differing_spaces.register(Sequence, differing_as_tuple)


@create_empty_array.register(Sequence)
def _empty_sequences(
    space: Sequence, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[Any, ...]:
    if space.stack:
        return tuple(create_empty_array(space.feature_space, n=1, fn=fn) for _ in range(n))
    return ((),) * n
