"""MultiDiscrete: arrays of integers, with a range for each entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ludus import logger
from ludus.spaces import masks
from ludus.spaces.discrete import Discrete, IntegerT_co
from ludus.spaces.errors import SpaceRangeError, SpaceTypeError, SpaceValueError
from ludus.spaces.space import ArraySpace, as_array

__all__ = ["MultiDiscrete"]


class MultiDiscrete(ArraySpace[NDArray[IntegerT_co]], Generic[IntegerT_co]):
    """Integer arrays whose entry ``i`` lies in ``start[i], …, start[i] + nvec[i] - 1``.

    Args:
        nvec: How many values each entry can take; its shape is the shape of the members.
        dtype: Integer dtype of the members.
        seed: Seed, or generator, of the samples.
        start: The smallest value of each entry, all 0 if not given.

    Raises:
        SpaceValueError: A count is not positive, the shapes differ, or the dtype is not integer.
        SpaceRangeError: A number, or the largest member, does not fit the dtype.

    Example:
        >>> MultiDiscrete([5, 2, 2], seed=42).sample()
        array([3, 0, 1])
    """

    dtype: np.dtype[IntegerT_co]
    nvec: NDArray[IntegerT_co]
    start: NDArray[IntegerT_co]

    def __init__(
        self,
        nvec: NDArray[np.integer[Any]] | Sequence[Any],
        dtype: npt.DTypeLike = np.int64,
        seed: int | np.random.Generator | None = None,
        start: NDArray[np.integer[Any]] | Sequence[Any] | None = None,
    ) -> None:
        kind = None if dtype is None else np.dtype(dtype)
        if kind is None or kind.kind not in "iu":
            raise SpaceValueError(
                f"Invalid MultiDiscrete dtype ({kind}): pass an integer dtype such as np.int64"
            )
        self.nvec = _cast("nvec", nvec, kind)
        self.start = _cast("start", np.zeros_like(self.nvec) if start is None else start, kind)
        if self.start.shape != self.nvec.shape:
            raise SpaceValueError(
                f"MultiDiscrete start should have the shape of nvec (counts), {self.nvec.shape}, "
                f"got {self.start.shape}"
            )
        if not (self.nvec > 0).all():
            raise SpaceValueError(
                f"MultiDiscrete nvec (counts) have to be positive, got {self.nvec}"
            )
        largest = np.iinfo(kind).max
        if (self.start > largest - (self.nvec - 1)).any():
            raise SpaceRangeError(
                f"start + nvec - 1 is out of bounds of dtype {kind}, which holds up to {largest}; "
                f"start={self.start}, nvec={self.nvec}; choose a wider dtype"
            )
        super().__init__(self.nvec.shape, kind, seed)

    def sample(
        self,
        mask: tuple[Any, ...] | None = None,
        probability: tuple[Any, ...] | None = None,
    ) -> NDArray[IntegerT_co]:
        """Draw an array, each entry by default uniformly.

        Args:
            mask: A tuple (nested like ``nvec``) with an int8 array for each entry: 1 for the values
                to choose from, 0 for the others. Without any 1, the entry gets its ``start``.
            probability: The same with float64 arrays: the chance of each value.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        if mask is None and probability is None:
            fractions: Any = self.np_random.random(self.nvec.shape)
            drawn = (fractions * self.nvec).astype(self.dtype)
            return drawn + self.start  # type: ignore[no-any-return]
        kind, given = masks.only_one(mask, probability)
        drawn = np.array(self._draw(kind, given, self.nvec), self.dtype)
        return drawn + self.start  # type: ignore[no-any-return]

    def _draw(self, kind: str, given: Any, nvec: Any) -> Any:
        """Draw, without ``start``, the entries that ``nvec`` describes."""
        if isinstance(nvec, np.ndarray):
            if not isinstance(given, tuple):
                raise SpaceTypeError(
                    f"The {kind} for nvec={nvec} should be a tuple, got {type(given)}"
                )
            if len(given) != len(nvec):
                raise SpaceValueError(
                    f"The {kind} for nvec={nvec} should have {len(nvec)} parts, got {len(given)}"
                )
            return [self._draw(kind, *pair) for pair in zip(given, nvec, strict=True)]
        weights = masks.check_weights(kind, given, int(nvec))
        allowed = weights.nonzero()[0]
        if kind == masks.MASK:
            return self.np_random.choice(allowed) if allowed.size else 0
        return self.np_random.choice(allowed, p=(weights / weights.sum())[allowed])

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is an array or sequence with the shape, castable and in range."""
        x = as_array(x)
        return (
            isinstance(x, np.ndarray)
            and x.shape == self._shape
            and (x.dtype == self.dtype or np.can_cast(x.dtype, self.dtype))
            and bool((self.start <= x).all())
            # The largest member, not `start + nvec`: that one may not fit the dtype.
            and bool((x <= self.start + (self.nvec - 1)).all())
        )

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start.any() else ""
        return f"MultiDiscrete({self.nvec}{start})"

    def __getitem__(self, index: Any) -> Discrete[IntegerT_co] | MultiDiscrete[IntegerT_co]:
        """Return the space of the entries at ``index``, with a copy of this space's generator."""
        nvec, start = self.nvec[index], self.start[index]
        part: Discrete[IntegerT_co] | MultiDiscrete[IntegerT_co]
        if nvec.ndim == 0:
            part = Discrete(nvec, start=start, dtype=self.dtype)
        else:
            part = MultiDiscrete(nvec, start=start, dtype=self.dtype)
        part.np_random.bit_generator.state = self.np_random.bit_generator.state
        return part

    def __len__(self) -> int:
        """Length of the members along their first axis."""
        if self.nvec.ndim >= 2:
            logger.warn("Getting the length of a multi-dimensional MultiDiscrete space.")
        return len(self.nvec)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultiDiscrete)
            and self.dtype == other.dtype
            and self.shape == other.shape
            and bool((self.nvec == other.nvec).all())
            and bool((self.start == other.start).all())
        )

    def __setstate__(self, state: Iterable[tuple[str, Any]] | Mapping[str, Any]) -> None:
        super().__setstate__(state)
        # Pickles of old versions have no `start`.
        if "start" not in self.__dict__:
            self.start = np.zeros(self.shape, dtype=self.dtype)


def _cast(name: str, values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a copy of the values as an array of the dtype, without NumPy's wrap-around."""
    given = np.asarray(values)
    limits = np.iinfo(dtype)
    if given.dtype.kind in "iuf" and ((given < limits.min) | (given > limits.max)).any():
        raise SpaceRangeError(
            f"{name}={given} is out of bounds of dtype {dtype}, which holds {limits.min} to "
            f"{limits.max}; choose a wider dtype"
        )
    return np.array(given, dtype=dtype)
