"""Tuple: tuples with a space for each element."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from ludus.spaces import masks
from ludus.spaces.errors import SpaceTypeError, SpaceValueError, conversion_hint
from ludus.spaces.space import Space, T_co, draw_seeds

__all__ = ["Tuple", "as_spaces", "check_parts"]


class Tuple(Space[tuple[T_co, ...]], collections.abc.Sequence[Any]):
    """Tuples whose element ``i`` is in ``spaces[i]``; itself a sequence of these spaces.

    Args:
        spaces: The spaces of the elements.
        seed: Seed from which those of the parts are drawn, one seed per part, or a generator.

    Raises:
        SpaceTypeError: A part is not a space.

    Example:
        >>> Tuple((Discrete(2), Box(-1, 1, shape=(2,))), seed=42).sample()
        (np.int64(0), array([-0.3991573 ,  0.21649833], dtype=float32))
    """

    spaces: tuple[Space[Any], ...]

    def __init__(
        self,
        spaces: Iterable[Space[Any]],
        seed: int | collections.abc.Sequence[int] | np.random.Generator | None = None,
    ) -> None:
        self.spaces = as_spaces(spaces)
        super().__init__(None, None, seed)  # type: ignore[arg-type]

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all parts are."""
        return all(space.is_np_flattenable for space in self.spaces)

    def seed(self, seed: Any = None) -> tuple[Any, ...]:
        """Seed the parts.

        Args:
            seed: ``None`` for random seeds, an int to draw the seeds of the parts from, or a list
                or tuple with the seed of each part.

        Returns:
            The result of seeding each part.

        Raises:
            SpaceTypeError: The seed is of another type.
            SpaceValueError: The number of seeds is not that of the parts.
        """
        if seed is None:
            seed = [None] * len(self.spaces)
        elif isinstance(seed, int):
            super().seed(seed)
            seed = draw_seeds(self.np_random, len(self.spaces))
        elif not isinstance(seed, (tuple, list)):
            raise SpaceTypeError(
                f"Tuple is seeded by a list, tuple, int or None, got {seed!r} of {type(seed)}"
            )
        elif len(seed) != len(self.spaces):
            raise SpaceValueError(
                f"Tuple needs one seed per subspace, {len(self.spaces)}, got {len(seed)}"
            )
        return tuple(space.seed(part) for space, part in zip(self.spaces, seed, strict=True))

    def sample(
        self,
        mask: tuple[Any | None, ...] | None = None,
        probability: tuple[Any | None, ...] | None = None,
    ) -> tuple[T_co, ...]:
        """Draw each part independently.

        Args:
            mask: A tuple with the mask, or ``None``, for each part.
            probability: A tuple with the probability, or ``None``, for each part.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        if mask is None and probability is None:
            return tuple([space.sample() for space in self.spaces])
        kind, given = masks.only_one(mask, probability)
        parts = check_parts(kind, given, len(self.spaces))
        return tuple(
            [space.sample(**{kind: part}) for space, part in zip(self.spaces, parts, strict=True)]
        )

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a tuple, list or array whose parts are in their spaces."""
        if isinstance(x, (list, np.ndarray)):
            x = tuple(x)
        return (
            isinstance(x, tuple)
            and len(x) == len(self.spaces)
            and all(space.contains(part) for space, part in zip(self.spaces, x, strict=True))
        )

    def to_jsonable(self, sample_n: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Convert a batch of members to one list per part."""
        samples = list(sample_n)
        return [
            space.to_jsonable([sample[i] for sample in samples])
            for i, space in enumerate(self.spaces)
        ]

    def from_jsonable(self, sample_n: collections.abc.Sequence[Any]) -> list[tuple[Any, ...]]:
        """Convert one list per part back to members."""
        columns = [space.from_jsonable(sample_n[i]) for i, space in enumerate(self.spaces)]
        return list(zip(*columns, strict=True))

    @overload
    def __getitem__(self, index: int) -> Space[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Space[Any], ...]: ...
    def __getitem__(self, index: int | slice) -> Space[Any] | tuple[Space[Any], ...]:
        return self.spaces[index]

    def __len__(self) -> int:
        return len(self.spaces)

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self.spaces == other.spaces


def as_spaces(spaces: object) -> tuple[Space[Any], ...]:
    """Return an iterable of spaces as a tuple.

    Raises:
        SpaceTypeError: It is not iterable, or contains other objects than spaces.
    """
    if not isinstance(spaces, Iterable):
        raise SpaceTypeError(
            f"Spaces should come as an iterable, but {spaces!r} is not an iterable"
        )
    parts = tuple(spaces)
    for i, part in enumerate(parts):
        if not isinstance(part, Space):
            raise SpaceTypeError(
                f"Subspace {i} does not inherit from `Space`: got {part!r} of {type(part)}"
                f"{conversion_hint(part)}"
            )
    return parts


def check_parts(kind: str, given: object, count: int) -> tuple[Any, ...]:
    """Return a mask or probability if it is a tuple of ``count`` parts."""
    if not isinstance(given, tuple):
        raise SpaceTypeError(f"The `{kind}` should be a tuple, got {given!r} of {type(given)}")
    if len(given) != count:
        raise SpaceValueError(
            f"The `{kind}` should have a part for each of the {count} subspaces, got {len(given)}"
        )
    return given
