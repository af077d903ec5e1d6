"""Discretises Box observations into bins."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.wrappers.clip_action import clip
from ludus.wrappers.discretization import Bins, Grid
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["DiscretizeObservation"]


class DiscretizeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Discretise a Box observation space into equal bins; an observation is its bin's index.

    Args:
        env: The environment.
        bins: Bins per component, one number for all or one each.
        multidiscrete: Return one index per component instead of one number for the whole cell.

    Raises:
        TypeError: The observation space is not a Box.
        ValueError: The Box is unbounded, or ``bins`` does not have one entry per component.

    Example:
        >>> DiscretizeObservation(ludus.make("MountainCar-v0"), bins=10).observation_space
        Discrete(100)
    """

    def __init__(self, env: Env[ObsType, ActType], bins: Bins, multidiscrete: bool = False) -> None:
        grid = Grid(type(self), "observation", env.observation_space, bins)
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
        space: Any = grid.space(multidiscrete=multidiscrete)
        super().__init__(env, self._cell, space)
        self._grid = grid
        self.low, self.high, self.bins = grid.low, grid.high, grid.bins
        self.n_dims = int(grid.low.size)
        self.multidiscrete = multidiscrete
        self.bin_edges = [edges[1:-1] for edges in grid.edges]
        self._edges = [edges.tolist() for edges in self.bin_edges]
        # A value on the upper bound belongs to the last bin.
        self._inside = self.high - 1e-8

    def _cell(self, observation: Any) -> Any:
        clipped = clip(np.ravel(observation), self.low, self._inside).tolist()
        indices = list(map(bisect_right, self._edges, clipped))
        if self.multidiscrete:
            return np.array(indices, dtype=np.int64)
        return self._grid.flat(indices)

    def revert_observation(self, obs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the lower and the upper corner of the cell."""
        indices = np.asarray(obs, dtype=int) if self.multidiscrete else self._grid.indices(obs)
        dtype = self.env.observation_space.dtype
        cells = list(zip(self._grid.edges, indices, strict=True))
        return (
            np.array([edges[i] for edges, i in cells], dtype=dtype),
            np.array([edges[i + 1] for edges, i in cells], dtype=dtype),
        )
