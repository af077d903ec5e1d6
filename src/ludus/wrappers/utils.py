"""Helper functions of the wrappers, at Gymnasium's module path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ludus.core import State
from ludus.core.state import copy_plain
from ludus.errors import CustomSpaceError, StateError
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    GraphInstance,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
    batch_space,
)

if TYPE_CHECKING:
    from ludus.core import Wrapper

__all__ = [
    "Bound",
    "RunningMeanStd",
    "add_sample",
    "check_count",
    "create_zero_array",
    "require_box",
    "rescale_box",
    "update_mean_var_count_from_moments",
]


def check_count(name: str, value: object, *, at_least: int) -> int:
    """Return ``value`` if it is an integer not below ``at_least``.

    Raises:
        TypeError: It is not a Python or NumPy integer, or it is a bool.
        ValueError: It is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an integer, actual type: {type(value)}.")
    if value < at_least:
        raise ValueError(f"`{name}` must be {at_least} or greater, actual value: {value}.")
    return int(value)


def require_box(wrapper: type[Wrapper], kind: str, space: object) -> Box:
    """Return ``space`` if it is a :class:`Box`; ``kind`` is ``"action"`` or ``"observation"``.

    Raises:
        TypeError: It is another space.
    """
    if not isinstance(space, Box):
        raise TypeError(
            f"{wrapper.__name__} needs a Box as {kind} space, got {type(space)}: {space}."
        )
    return space


Array = npt.NDArray[Any]
Bound = np.floating[Any] | np.integer[Any] | float | int | Array

# The widest float of the platform: the span of a float64 Box may exceed the largest float64.
_WIDEST = np.longdouble


def rescale_box(
    box: Box, new_min: Bound, new_max: Bound
) -> tuple[Box, Callable[[Array], Array], Callable[[Array], Array]]:
    """Return a Box with new bounds and the affine maps between it and ``box``.

    An infinite bound can only be mapped to itself.

    Returns:
        The new Box, the map from the old one to the new one, and its inverse.

    Raises:
        TypeError: ``box`` is no Box, or a bound is neither a number nor an array.
        ValueError: A bound has the wrong shape, the wrong infinities, or the wrong order.
    """
    if not isinstance(box, Box):
        raise TypeError(f"`box` must be a Box space, got {type(box)}.")
    low = _bound("new_min", new_min, box.shape)
    high = _bound("new_max", new_max, box.shape)
    for new, old in ((low, box.low), (high, box.high)):
        infinite = np.isinf(new) | np.isinf(old)
        if not np.all((new == old)[infinite]):
            raise ValueError(
                "An unbounded component stays unbounded: where a bound is infinite, the new one "
                f"must be the same. Cannot map {old} onto {new}."
            )
    if not np.all(low <= high):
        raise ValueError(f"`new_min` exceeds `new_max` somewhere: {low}, {high}.")
    if not np.all(box.low <= box.high):
        raise ValueError(f"box.low exceeds box.high somewhere: {box.low}, {box.high}.")

    line = _Line(*_coefficients(box, low, high))
    new_box = Box(low=new_min, high=new_max, shape=box.shape, dtype=box.dtype)
    return new_box, line.forward, line.backward


@dataclass(frozen=True, slots=True)
class _Line:
    """An affine map. Unlike closures its methods can be pickled."""

    gradient: Array
    intercept: Array

    def forward(self, value: Array) -> Array:
        scaled: Array = self.gradient * value
        scaled += self.intercept
        return scaled

    def backward(self, value: Array) -> Array:
        shifted: Array = value - self.intercept
        return shifted / self.gradient


def _coefficients(box: Box, low: Array, high: Array) -> tuple[Array, Array]:
    """Return gradient and intercept; with one finite side the map only shifts."""
    low_finite, high_finite = np.isfinite(low), np.isfinite(high)
    bounded = low_finite & high_finite
    span = box.high[bounded].astype(_WIDEST) - box.low[bounded].astype(_WIDEST)

    gradient = np.ones_like(low, dtype=box.dtype)
    gradient[bounded] = (high[bounded] - low[bounded]) / span
    intercept = np.zeros_like(low, dtype=box.dtype)
    intercept[high_finite] = high[high_finite] - box.high[high_finite]
    intercept[low_finite] = gradient[low_finite] * -box.low[low_finite] + low[low_finite]
    return gradient, intercept


def _bound(name: str, value: Bound, shape: tuple[int, ...]) -> Array:
    if not isinstance(value, np.ndarray):
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(
                f"`{name}` must be an integer, a float or a numpy array, got {type(value)}."
            )
        return np.full(shape, value)
    if value.shape != shape:
        raise ValueError(f"{name}.shape must be the Box's {shape}, got {value.shape}.")
    return value


@singledispatch
def create_zero_array(space: Space[Any]) -> Any:
    """Return the member of ``space`` that is as near to zero as its bounds allow.

    ``create_zero_array.register(MySpace)`` adds a kind of space.

    Raises:
        CustomSpaceError: No implementation is registered for this kind of space.
        TypeError: ``space`` is not a space.
    """
    if isinstance(space, Space):
        raise CustomSpaceError(
            f"`create_zero_array` has no implementation for spaces of type {type(space)}. Register "
            "one with `create_zero_array.register(...)`."
        )
    raise TypeError(
        f"`create_zero_array` takes a Space instance, got {space!r} of type {type(space)}."
    )


@create_zero_array.register(Box)
def _box(space: Box) -> npt.NDArray[Any]:
    zero: npt.NDArray[Any] = np.zeros(space.shape, dtype=space.dtype)
    return np.clip(zero, space.low, space.high, out=zero)


@create_zero_array.register(Discrete)
def _discrete(space: Discrete) -> Any:
    return space.start


@create_zero_array.register(MultiDiscrete)
def _multi_discrete(space: MultiDiscrete) -> npt.NDArray[Any]:
    return np.array(space.start, dtype=space.dtype)


@create_zero_array.register(MultiBinary)
def _multi_binary(space: MultiBinary) -> npt.NDArray[Any]:
    return np.zeros(space.shape, dtype=space.dtype)


@create_zero_array.register(Tuple)
def _tuple(space: Tuple) -> tuple[Any, ...]:
    return tuple(create_zero_array(part) for part in space.spaces)


@create_zero_array.register(Dict)
def _dict(space: Dict) -> dict[str, Any]:
    return {key: create_zero_array(part) for key, part in space.spaces.items()}


@create_zero_array.register(Sequence)
def _sequence(space: Sequence) -> Any:
    return create_zero_array(space.stacked_feature_space) if space.stack else ()


@create_zero_array.register(Text)
def _text(space: Text) -> str:
    return space.characters[:1] * space.min_length


@create_zero_array.register(Graph)
def _graph(space: Graph) -> GraphInstance:
    """Return one node and, if the space has edges, one edge from it to itself."""
    nodes = create_zero_array(batch_space(space.node_space, 1))
    if space.edge_space is None:
        return GraphInstance(nodes=nodes, edges=None, edge_links=None)
    edges = create_zero_array(batch_space(space.edge_space, 1))
    return GraphInstance(nodes=nodes, edges=edges, edge_links=np.zeros((1, 2), dtype=np.int64))


@create_zero_array.register(OneOf)
def _one_of(space: OneOf) -> tuple[int, Any]:
    return 0, create_zero_array(space.spaces[0])


_STATISTICS = ("mean", "var", "count")


class RunningMeanStd:
    """Running mean, variance and count of samples.

    The initial mean 0 and variance 1 have the weight ``epsilon``, so that the first division is
    defined.

    Example:
        >>> statistics = RunningMeanStd(shape=(2,))
        >>> statistics.update(np.array([[0.0, 2.0], [4.0, 2.0]]))
        >>> statistics.mean.round(2)
        array([2., 2.])
    """

    mean: Any
    var: Any
    count: float

    def __init__(
        self,
        epsilon: float = 1e-4,
        shape: tuple[int, ...] = (),
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.mean = np.zeros(shape, dtype=dtype)
        self.var = np.ones(shape, dtype=dtype)
        self.count = epsilon

    def update(self, x: npt.NDArray[Any]) -> None:
        """Add a batch of samples, stacked along the first axis."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), x.shape[0])

    def update_from_moments(self, batch_mean: Any, batch_var: Any, batch_count: int) -> None:
        """Add a batch known by its mean, variance and size."""
        self.mean, self.var, self.count = update_mean_var_count_from_moments(
            self.mean, self.var, self.count, batch_mean, batch_var, batch_count
        )

    def get_state(self) -> State:
        """Return the statistics as plain data."""
        return {name: copy_plain(getattr(self, name), name) for name in _STATISTICS}

    def set_state(self, state: State) -> None:
        """Restore the state that :meth:`get_state` returned.

        Raises:
            StateError: A statistic is missing.
        """
        if not isinstance(state, dict) or any(name not in state for name in _STATISTICS):
            raise StateError(f"Running statistics have {_STATISTICS}; got {state!r}.")
        for name in _STATISTICS:
            setattr(self, name, copy_plain(state[name], name))


def update_mean_var_count_from_moments(
    mean: Any, var: Any, count: float, batch_mean: Any, batch_var: Any, batch_count: int
) -> tuple[Any, Any, float]:
    """Return mean, variance and count of two sets of samples combined (Chan's algorithm)."""
    total = count + batch_count
    shift = batch_mean - mean
    squares = var * count + batch_var * batch_count
    squares = squares + np.square(shift) * count * batch_count / total
    return mean + shift * batch_count / total, squares / total, total


def add_sample(statistics: RunningMeanStd, sample: npt.ArrayLike) -> None:
    """Add one sample: same result as ``statistics.update([sample])``, several times faster."""
    value: Any = np.asarray(sample)
    if value.dtype.kind in "biu":
        value = value.astype(np.float64)
    # The variance of one value: zero, or NaN where the value is not finite.
    statistics.update_from_moments(value, value - value, 1)
