"""Wrappers that change actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, SupportsInt

import numpy as np
import numpy.typing as npt

from ludus.core import ActionWrapper, ActType, Env, ObsType, RecordConstructorArgs, WrapperActType
from ludus.errors import InvalidBound
from ludus.spaces import Box, Discrete, MultiDiscrete, Space
from ludus.wrappers.mixins import FunctionInPlace, calls_func
from ludus.wrappers.utils import Bound, require_box, rescale_box

__all__ = [
    "Bins",
    "ClipAction",
    "DiscretizeAction",
    "Grid",
    "RescaleAction",
    "TransformAction",
    "clip",
]

Bins = int | Sequence[int]


class TransformAction(
    FunctionInPlace, ActionWrapper[ObsType, WrapperActType, ActType], RecordConstructorArgs
):
    """Apply ``func`` to every action.

    Args:
        func: From an outer action to an inner one. It must be stateless: its state would not be
            saved with the wrapper's.
        action_space: The new action space; ``None`` keeps the inner one.

    Example:
        >>> env = TransformAction(ludus.make("CartPole-v1"), lambda action: 1 - action, None)
        >>> env.action(0)
        1
    """

    state_fields = ()
    calling_method = "action"

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[WrapperActType] | None,
    ) -> None:
        RecordConstructorArgs.__init__(self, func=func, action_space=action_space)
        super().__init__(env)
        if action_space is not None:
            self.action_space = action_space
        self.func = func

    @calls_func
    def action(self, action: WrapperActType) -> Any:
        """Return ``func(action)``."""
        return self.func(action)


class ClipAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Clip actions to the bounds of the inner action space; the outer one is unbounded.

    Raises:
        TypeError: The action space is not a Box.
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        box = require_box(type(self), "action", env.action_space)
        RecordConstructorArgs.__init__(self)
        unbounded: Any = Box(-np.inf, np.inf, shape=box.shape, dtype=box.dtype)
        super().__init__(env, partial(clip, low=box.low, high=box.high), unbounded)


def clip(value: Any, low: Any, high: Any) -> Any:
    """Clip like ``numpy.clip``, in a fraction of its time; ``None`` is no bound."""
    if low is not None:
        value = np.maximum(value, low)
    return value if high is None else np.minimum(value, high)


class DiscretizeAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Discretise a Box action space into equal bins; an action is the index of a bin.

    The inner environment receives the centre of the bin.

    Args:
        bins: Bins per component, one number for all or one each.
        multidiscrete: Take one index per component instead of one number for the whole cell.

    Raises:
        TypeError: The action space is not a Box.
        ValueError: The Box is unbounded, or ``bins`` does not have one entry per component.

    Example:
        >>> DiscretizeAction(ludus.make("Pendulum-v1"), bins=10).action_space
        Discrete(10)
    """

    def __init__(self, env: Env[ObsType, ActType], bins: Bins, multidiscrete: bool = False) -> None:
        grid = Grid(type(self), "action", env.action_space, bins)
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
        space: Any = grid.space(multidiscrete=multidiscrete)
        super().__init__(env, self._center, space)
        self._grid = grid
        self._dtype, self._shape = env.action_space.dtype, env.action_space.shape
        self.low, self.high, self.bins = grid.low, grid.high, grid.bins
        self.n_dims = int(grid.low.size)
        self.multidiscrete = multidiscrete
        self.bin_centers = [0.5 * (edges[:-1] + edges[1:]) for edges in grid.edges]

    def action(self, act: WrapperActType) -> Any:
        """Return the centre of the bin with the index ``act``."""
        return self.func(act)

    def _center(self, action: Any) -> Any:
        """Return the centre of the bin; indices out of range are clipped."""
        indices = (
            np.asarray(action, dtype=int) if self.multidiscrete else self._grid.indices(action)
        )
        centers = [
            centers[min(max(i, 0), len(centers) - 1)]
            for centers, i in zip(self.bin_centers, indices, strict=True)
        ]
        return np.array(centers, dtype=self._dtype).reshape(self._shape)

    def revert_action(self, action: npt.NDArray[Any]) -> Any:
        """Return the discrete action whose bin centre is nearest to the continuous action."""
        indices = [
            np.argmin(np.abs(centers - value))
            for centers, value in zip(self.bin_centers, np.ravel(action), strict=True)
        ]
        if self.multidiscrete:
            return np.array(indices, dtype=int)
        return np.ravel_multi_index(indices, self.bins)


class RescaleAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Map actions linearly from [``min_action``, ``max_action``] to the inner bounds.

    Raises:
        TypeError: The action space is not a Box, or a bound is neither number nor array.
        ValueError: A bound does not fit the space (:func:`~ludus.wrappers.utils.rescale_box`).
        InvalidBound: The bounds are equal in some component.

    Example:
        >>> RescaleAction(ludus.make("Pendulum-v1"), min_action=-1, max_action=1).action_space
        Box(-1.0, 1.0, (1,), float32)
    """

    def __init__(self, env: Env[ObsType, ActType], min_action: Bound, max_action: Bound) -> None:
        box = require_box(type(self), "action", env.action_space)
        RecordConstructorArgs.__init__(self, min_action=min_action, max_action=max_action)
        space: Any
        backward: Any
        space, _, backward = rescale_box(box, min_action, max_action)
        if np.any(space.low == space.high):
            raise InvalidBound(
                f"`min_action` ({min_action}) is not strictly smaller than `max_action` "
                f"({max_action}) everywhere: a point cannot be mapped back onto an interval."
            )
        super().__init__(env, backward, space)


class Grid:
    """Grid over a Box; cells have a tuple of indices and a flat index in C order.

    Raises:
        TypeError: The space is not a Box.
        ValueError: The Box is unbounded, or ``bins`` does not have one entry per component.
    """

    def __init__(self, wrapper: type[Any], kind: str, space: object, bins: Bins) -> None:
        box = require_box(wrapper, kind, space)
        self.low = np.ravel(box.low)
        self.high = np.ravel(box.high)
        if np.any(np.isinf(self.low)) or np.any(np.isinf(self.high)):
            raise ValueError(
                f"Only a finite {kind} space can be cut into bins; {box} has infinite bounds."
            )
        count = self.low.size
        per_component = [bins] * count if isinstance(bins, int) else bins
        if len(per_component) != count:
            raise ValueError(
                f"`bins` has {len(per_component)} entries for {count} {kind} components; give "
                "one each, or one number for all."
            )
        self.bins: npt.NDArray[np.int64] = np.array(per_component)
        self._sizes = self.bins.tolist()
        self.edges = [
            np.linspace(low, high, number + 1)
            for low, high, number in zip(self.low, self.high, self.bins, strict=True)
        ]

    def space(self, *, multidiscrete: bool) -> Discrete | MultiDiscrete:
        """Return the space of cell indices."""
        return MultiDiscrete(self.bins) if multidiscrete else Discrete(np.prod(self.bins))

    def flat(self, indices: Iterable[int]) -> int:
        """Return the flat index of a cell."""
        number = 0
        for index, bins in zip(indices, self._sizes, strict=True):
            number = number * bins + index
        return number

    def indices(self, flat: SupportsInt) -> list[int]:
        """Return the indices of the cell with a flat index, modulo the number of cells."""
        number = int(flat)
        cell = []
        for bins in reversed(self._sizes):
            number, index = divmod(number, bins)
            cell.append(index)
        return cell[::-1]
