"""MultiBinary: arrays of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.spaces import masks
from ludus.spaces.errors import SpaceValueError
from ludus.spaces.space import ArraySpace, as_array

__all__ = ["MultiBinary"]


class MultiBinary(ArraySpace[NDArray[np.int8]]):
    """Arrays of a fixed shape whose entries are 0 or 1.

    Args:
        n: The length of the arrays, or their shape.
        seed: Seed, or generator, of the samples.

    Raises:
        SpaceValueError: ``n`` is not an integer or sequence of integers, or not positive.

    Example:
        >>> MultiBinary(5, seed=42).sample()
        array([1, 0, 1, 0, 1], dtype=int8)
    """

    dtype: np.dtype[np.int8]
    n: int | tuple[int, ...]

    def __init__(
        self,
        n: NDArray[np.integer[Any]] | Sequence[int] | int | np.integer[Any],
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if isinstance(n, (int, np.integer)):
            self.n = int(n)
            shape: tuple[int, ...] = (self.n,)
        elif isinstance(n, (Sequence, np.ndarray)):
            self.n = shape = tuple(int(length) for length in n)
        else:
            raise SpaceValueError(
                f"MultiBinary n should be an int or a sequence of ints, got {n!r} of {type(n)}"
            )
        if any(length <= 0 for length in shape):
            raise SpaceValueError(f"MultiBinary n (counts) have to be positive, got {n}")
        super().__init__(shape, np.int8, seed)

    def sample(
        self,
        mask: NDArray[np.int8] | None = None,
        probability: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int8]:
        """Draw an array, each entry by default uniformly.

        Args:
            mask: int8 array of the space's shape: 0 and 1 fix the entry, 2 draws it.
            probability: float64 array of the space's shape: the probability that an entry is 1.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        if mask is None and probability is None:
            return self.np_random.integers(0, 2, self.n, self.dtype)
        kind, given = masks.only_one(mask, probability)
        given = masks.check_array(kind, given, self.shape)
        if kind == masks.PROBABILITY:
            masks.check_interval(given)
            return (self.np_random.random(self.shape) <= given).astype(np.int8)
        masks.check_binary(given, largest=2)
        coins = self.np_random.integers(0, 2, self.n, self.dtype)
        return np.where(given == 2, coins, given)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is an array or sequence with the shape and only zeros and ones."""
        x = as_array(x)
        return (
            isinstance(x, np.ndarray)
            and x.shape == self._shape
            and bool(((x == 0) | (x == 1)).all())
        )

    def __repr__(self) -> str:
        return f"MultiBinary({self.n})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiBinary) and self.n == other.n
