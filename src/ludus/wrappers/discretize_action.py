"""Discretises Box actions into bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperActType
from ludus.wrappers.discretization import Bins, Grid
from ludus.wrappers.transform_action import TransformAction

__all__ = ["DiscretizeAction"]


class DiscretizeAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Discretise a Box action space into equal bins; an action is the index of a bin.

    The inner environment receives the centre of the bin.

    Args:
        env: The environment.
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
