"""OneOf: values of one of several spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic

import numpy as np

from ludus.spaces import masks
from ludus.spaces.dict import Dict
from ludus.spaces.errors import SpaceValueError
from ludus.spaces.space import Space, T_co, seed_with_parts
from ludus.spaces.tuple import Tuple, as_spaces, check_parts

__all__ = ["OneOf"]


class OneOf(Space[tuple[Any, T_co]], Generic[T_co]):
    """Pairs of an index and a member of the space at that index.

    Args:
        spaces: The spaces to choose from, at least one.
        seed: Seed from which those of the parts are drawn, one for this space followed by one per
            part, or a generator.

    Raises:
        SpaceTypeError: ``spaces`` is not iterable, or contains other objects than spaces.
        SpaceValueError: It is empty.

    Example:
        >>> OneOf((Discrete(2), Box(-1, 1, shape=(2,))), seed=123).sample()
        (np.int64(0), np.int64(0))
    """

    spaces: tuple[Space[Any], ...]

    def __init__(
        self,
        spaces: Iterable[Space[Any]],
        seed: int | Sequence[int] | np.random.Generator | None = None,
    ) -> None:
        self.spaces = as_spaces(spaces)
        if not self.spaces:
            raise SpaceValueError("OneOf cannot be empty; pass at least one space")
        super().__init__(None, None, seed)  # type: ignore[arg-type]

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all parts are."""
        return all(space.is_np_flattenable for space in self.spaces)

    def seed(self, seed: Any = None) -> tuple[Any, ...]:
        """Seed this space and its parts: by ``None``, one int, or a list of one seed for each.

        Returns:
            The seed of this space, then the result of seeding each part.

        Raises:
            SpaceTypeError: The seed is of another type.
            SpaceValueError: The number of seeds is wrong.
        """
        return seed_with_parts(self, seed, self.spaces)

    def sample(
        self,
        mask: tuple[Any | None, ...] | None = None,
        probability: tuple[Any | None, ...] | None = None,
    ) -> tuple[np.int64, T_co]:
        """Choose a space uniformly and draw a member of it.

        Args:
            mask: A tuple with the mask, or ``None``, for each space.
            probability: A tuple with the probability, or ``None``, for each space.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        index = self.np_random.integers(0, len(self.spaces), dtype=np.int64)
        space = self.spaces[index]
        kind, given = masks.only_one(mask, probability)
        if given is None:
            return index, space.sample()
        parts = check_parts(kind, given, len(self.spaces))
        return index, space.sample(**{kind: parts[index]})

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a pair of an index and a member of the space at that index."""
        return (
            isinstance(x, tuple)
            and len(x) == 2
            and isinstance(x[0], (np.int64, int))
            and bool(0 <= x[0] < len(self.spaces))
            and self.spaces[x[0]].contains(x[1])
        )

    def to_jsonable(self, sample_n: Iterable[tuple[Any, Any]]) -> list[Any]:
        """Convert a batch of members to pairs of index and plain data."""
        pairs = []
        for index, value in sample_n:
            space = self.spaces[index]
            plain = space.to_jsonable([value])
            pairs.append([int(index), plain if _by_column(space) else plain[0]])
        return pairs

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[tuple[Any, Any]]:
        """Convert pairs of index and plain data back to members."""
        pairs = []
        for index, plain in sample_n:
            space = self.spaces[index]
            batch = space.from_jsonable(plain if _by_column(space) else [plain])
            pairs.append((np.int64(index), batch[0]))
        return pairs

    def __getitem__(self, index: int) -> Space[Any]:
        return self.spaces[index]

    def __len__(self) -> int:
        return len(self.spaces)

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.spaces == other.spaces


def _by_column(space: Space[Any]) -> bool:
    """Return whether the plain data of a batch is a list per part instead of a list of members."""
    space = getattr(space, "stacked_feature_space", space)
    return isinstance(space, Dict) or (isinstance(space, Tuple) and len(space) > 1)
