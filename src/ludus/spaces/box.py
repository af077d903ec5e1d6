"""Box: arrays of numbers within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ludus import logger
from ludus.errors import Error
from ludus.spaces.bounds import Bound, cast_bound, check_shape, infer_shape
from ludus.spaces.errors import SpaceValueError
from ludus.spaces.space import ArraySpace

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ludus.spaces.box_sampling import SamplingPlan

    ScalarT_co = TypeVar("ScalarT_co", bound=np.generic, covariant=True, default=Any)
else:
    from typing import TypeVar

    ScalarT_co = TypeVar("ScalarT_co", bound=np.generic, covariant=True)

__all__ = ["Box"]


class Box(ArraySpace[NDArray[ScalarT_co]]):
    """Arrays of one shape and dtype whose entries lie between ``low`` and ``high``, inclusive.

    Args:
        low: Lower bound, one for all entries or an array of them; ``-inf`` for none.
        high: Upper bound, likewise.
        shape: Shape of the members; if not given, that of ``low`` or ``high``, and ``(1,)`` for two
            numbers.
        dtype: Floating, integer or bool dtype of the members.
        seed: Seed, or generator, of the samples.

    Raises:
        SpaceTypeError: ``shape`` is not a sequence of integers.
        SpaceValueError: A bound is nan, has the wrong shape, type or dtype, or is above the other;
            the shape cannot be inferred; the dtype is not supported.
        SpaceRangeError: A bound does not fit the dtype.

    Example:
        >>> Box(low=-1.0, high=2.0, shape=(3, 4))
        Box(-1.0, 2.0, (3, 4), float32)
        >>> Box(low=np.array([-1, -2]), high=np.array([2, 4]), dtype=np.int8)
        Box([-1 -2], [2 4], (2,), int8)
    """

    dtype: np.dtype[Any]
    low: NDArray[ScalarT_co]
    high: NDArray[ScalarT_co]
    bounded_below: NDArray[np.bool_]
    bounded_above: NDArray[np.bool_]
    low_repr: str | None
    high_repr: str | None
    _plan: SamplingPlan | None = None

    def __init__(
        self,
        low: Bound,
        high: Bound,
        shape: Iterable[int | np.integer[Any]] | None = None,
        dtype: npt.DTypeLike = np.float32,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if dtype is None:
            raise SpaceValueError("Box dtype cannot be None; pass one, such as np.float32")
        kind = np.dtype(dtype)
        if kind.kind not in "iufb":
            raise SpaceValueError(
                f"Invalid Box dtype ({kind}): only floating, integer and bool numbers have bounds"
            )
        size = infer_shape(low, high) if shape is None else check_shape(shape)
        self.low, self.bounded_below = cast_bound("low", low, size, kind)
        self.high, self.bounded_above = cast_bound("high", high, size, kind)
        if (self.low > self.high).any():  # type: ignore[operator]
            raise SpaceValueError(
                f"Box low must nowhere be above high, got low={self.low}, high={self.high}"
            )
        self.low_repr = self.high_repr = None
        super().__init__(size, kind, seed)

    def is_bounded(self, manner: Literal["both", "below", "above"] = "both") -> bool:
        """Whether every entry has a finite bound: ``"below"``, ``"above"`` or ``"both"``.

        Raises:
            SpaceValueError: ``manner`` is none of the three.
        """
        sides = {"below": [self.bounded_below], "above": [self.bounded_above]}
        sides["both"] = sides["below"] + sides["above"]
        if manner not in sides:
            raise SpaceValueError(f"manner is not in {{'below', 'above', 'both'}}, got {manner!r}")
        return all(bool(side.all()) for side in sides[manner])

    def sample(self, mask: None = None, probability: None = None) -> NDArray[ScalarT_co]:
        """Draw an array, each entry from a distribution that depends on its bounds.

        Uniform between two bounds, exponential away from a single bound, standard normal without
        bounds; integers are rounded down.

        Raises:
            Error: A mask or probability is given, which a box does not support.
        """
        if mask is not None or probability is not None:
            raise Error(
                "Box.sample cannot be provided a mask or a probability mask, its members are not "
                f"countable; got mask={mask}, probability={probability}"
            )
        plan = self._plan
        if (
            plan is None
            # The bounds may have been changed in place since then.
            or plan.low_bytes != self.low.tobytes()
            or plan.high_bytes != self.high.tobytes()
        ):
            # Imported here: most processes sample no box before their first step.
            from ludus.spaces.box_sampling import SamplingPlan

            plan = self._plan = SamplingPlan.of(self)
        return plan.draw(self.np_random, self)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` has the shape, is within bounds and casts safely to the dtype.

        Anything but an array is first converted, with a warning.
        """
        if not isinstance(x, np.ndarray):
            logger.warn("Casting input x to numpy array.")
            try:
                x = np.asarray(x, dtype=self.dtype)
            except (ValueError, TypeError, OverflowError):
                return False
        return (
            (x.dtype == self.dtype or np.can_cast(x.dtype, self.dtype))
            and x.shape == self._shape
            and bool(((x >= self.low) & (x <= self.high)).all())
        )

    def __repr__(self) -> str:
        # Cached, because printing large bounds is slow.
        if self.low_repr is None:
            self.low_repr = _short_repr(self.low)
        if self.high_repr is None:
            self.high_repr = _short_repr(self.high)
        return f"Box({self.low_repr}, {self.high_repr}, {self.shape}, {self.dtype})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Box)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and _close(self.low, other.low)
            and _close(self.high, other.high)
        )

    def __setstate__(self, state: Iterable[tuple[str, Any]] | Mapping[str, Any]) -> None:
        super().__setstate__(state)
        # Missing in pickles of old versions.
        if "low_repr" not in self.__dict__:
            self.low_repr = _short_repr(self.low)
        if "high_repr" not in self.__dict__:
            self.high_repr = _short_repr(self.high)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_plan", None)
        return state


def _short_repr(array: NDArray[Any]) -> str:
    """Return the value of all entries if they are equal, else the whole array, as text."""
    if array.size and array.min() == array.max():
        return str(array.min())
    return str(array)


def _close(left: NDArray[Any], right: NDArray[Any]) -> bool:
    # Equality is tested first, because np.allclose is slow.
    return bool((left == right).all()) or np.allclose(left, right)
