"""Discrete: a finite range of integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
import numpy.typing as npt

from ludus.spaces import masks
from ludus.spaces.bounds import integer_limits
from ludus.spaces.errors import SpaceRangeError, SpaceTypeError, SpaceValueError
from ludus.spaces.space import MaskNDArray, Space, is_integer

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    IntegerT_co = TypeVar(
        "IntegerT_co", bound=np.integer[Any], covariant=True, default=np.integer[Any]
    )
else:
    from typing import TypeVar

    IntegerT_co = TypeVar("IntegerT_co", bound=np.integer, covariant=True)

__all__ = ["Discrete"]


class Discrete(Space[IntegerT_co], Generic[IntegerT_co]):
    """The integers ``start, start + 1, …, start + n - 1``.

    Args:
        n: How many there are.
        seed: Seed, or generator, of the samples.
        start: The smallest one.
        dtype: Integer dtype of the samples.

    Raises:
        SpaceTypeError: ``n`` or ``start`` is not an integer, or ``dtype`` is not an integer dtype.
        SpaceValueError: ``n`` is not positive.
        SpaceRangeError: ``n``, ``start`` or the largest member does not fit the dtype.

    Example:
        >>> Discrete(3, start=-1, seed=42).sample()
        np.int64(-1)
    """

    dtype: np.dtype[IntegerT_co]
    n: IntegerT_co
    start: IntegerT_co

    def __init__(
        self,
        n: int | np.integer[Any],
        seed: int | np.random.Generator | None = None,
        start: int | np.integer[Any] = 0,
        dtype: npt.DTypeLike = np.int64,
    ) -> None:
        if not is_integer(n):
            raise SpaceTypeError(f"Discrete `n` should be an integer, got {n!r} of {type(n)}")
        if n <= 0:
            raise SpaceValueError(f"Discrete n (counts) have to be positive, got {n}")
        if not is_integer(start):
            raise SpaceTypeError(
                f"Discrete `start` should be an integer, got {start!r} of {type(start)}"
            )
        kind = None if dtype is None else np.dtype(dtype)
        if kind is None or kind.kind not in "iu":
            raise SpaceTypeError(
                f"Invalid Discrete dtype ({kind}): pass an integer dtype such as np.int64"
            )
        smallest, largest = integer_limits(kind)
        count, first = int(n), int(start)
        for name, value in (("n", count), ("start", first), ("start + n - 1", first + count - 1)):
            if not smallest <= value <= largest:
                raise SpaceRangeError(
                    f"Discrete {name} = {value} is out of bounds of dtype {kind}, which holds "
                    f"{smallest} to {largest}; choose a wider dtype"
                )
        super().__init__((), kind, seed)
        self.n = self.dtype.type(n)
        self.start = self.dtype.type(start)

    @property
    def shape(self) -> tuple[int, ...]:
        """Always ``()``."""
        return ()

    @property
    def is_np_flattenable(self) -> Literal[True]:
        """Always: a member becomes a one-hot vector."""
        return True

    def sample(
        self,
        mask: MaskNDArray | None = None,
        probability: npt.NDArray[np.float64] | None = None,
    ) -> IntegerT_co:
        """Draw an integer, by default uniformly.

        Args:
            mask: int8 array of shape ``(n,)``: 1 for the integers to choose from, 0 for the others.
                If it has no 1, ``start`` is returned.
            probability: float64 array of shape ``(n,)``: the chance of each integer.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        if mask is None and probability is None:
            drawn: Any = self.np_random.integers(self.n, dtype=self.dtype.type)
            return self.start + drawn  # type: ignore[no-any-return]
        kind, given = masks.only_one(mask, probability)
        weights = masks.check_weights(kind, given, int(self.n))
        if kind == masks.PROBABILITY:
            index = self.np_random.choice(weights.size, p=weights)
        else:
            allowed = weights.nonzero()[0]
            index = self.np_random.choice(allowed) if allowed.size else 0
        return self.start + self.dtype.type(index)  # type: ignore[no-any-return]

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is in range: an int, or a NumPy integer that casts safely."""
        if not isinstance(x, int):
            if not isinstance(x, (np.generic, np.ndarray)):
                return False
            dtype = x.dtype
            if dtype.kind not in "iu" or x.shape != ():
                return False
            if dtype != self.dtype and not np.can_cast(dtype, self.dtype):
                return False
        return 0 <= int(x) - int(self.start) < int(self.n)

    def __repr__(self) -> str:
        start = f", start={self.start}" if int(self.start) else ""
        dtype = f", dtype={self.dtype}" if self.dtype != np.int64 else ""
        return f"Discrete({self.n}{start}{dtype})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Discrete)
            and bool(self.n == other.n)
            and bool(self.start == other.start)
            and self.dtype == other.dtype
        )

    def __setstate__(self, state: Iterable[tuple[str, Any]] | Mapping[str, Any]) -> None:
        # Pickles of old classic Gym versions have no `start`.
        super().__setstate__({"start": np.int64(0), **dict(state)})

    def to_jsonable(self, sample_n: Iterable[int | np.integer[Any]]) -> list[int]:
        """Convert a batch of members to Python ints."""
        return [int(x) for x in sample_n]

    def from_jsonable(self, sample_n: Iterable[int]) -> list[IntegerT_co]:
        """Convert Python ints back to members."""
        return [self.dtype.type(x) for x in sample_n]
