"""Trajectories: the results of many steps, and the buffers a driver writes them to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.kernel.env import KernelEnv
from ludus.kernel.memory import aligned_empty
from ludus.kernel.space_values import tuple_parts
from ludus.kernel.storage import Storage
from ludus.spaces import Discrete, Tuple

__all__ = ["Buffers", "Trajectory"]


class Trajectory(NamedTuple):
    """The results of ``steps`` steps of ``n`` environments; time is the first axis.

    ``observations[t]`` is the result of step ``t``, with ``actions[t]``; for tuple observations it
    is a tuple of arrays, and ``observations[k][t]`` is part ``k``.
    """

    observations: Any
    actions: Any
    rewards: Any
    terminations: Any
    truncations: Any


class Buffers(NamedTuple):
    """The buffers of a trajectory, in the order of a driver's arguments."""

    observations: Any
    rewards: Any
    flags: Any
    """Terminated, then truncated."""

    @classmethod
    def make(cls, storage: Storage, steps: int) -> Buffers:
        """Allocate the buffers for a number of steps."""
        like = storage.raw_observations
        seen = aligned_empty((steps, *like.shape), like.dtype)
        rewards = aligned_empty((steps, storage.n))
        return cls(seen, rewards, np.empty((2, steps, storage.n), np.bool_))

    @classmethod
    def of(cls, trajectory: Trajectory, env: KernelEnv, storage: Storage, steps: int) -> Buffers:
        """Return the buffers of a trajectory that an earlier rollout returned.

        Raises:
            ValueError: It has another shape, or was not made by a rollout.
        """
        seen = trajectory.observations
        if isinstance(env.observation_space, Tuple):
            raise ValueError("Observations that are tuples cannot be written into out.")
        if isinstance(env.observation_space, Discrete):
            seen = seen[..., None]
        flags = trajectory.terminations.base
        found = cls(seen, trajectory.rewards, flags)
        like, n = storage.raw_observations, storage.n
        shapes = [(steps, *like.shape), (steps, n), (2, steps, n)]
        dtypes = [like.dtype, np.dtype(np.float64), np.dtype(np.bool_)]
        fits = (
            array is not None
            and (array.shape, array.dtype) == (shape, dtype)
            and array.flags.carray
            for array, shape, dtype in zip(found, shapes, dtypes, strict=True)
        )
        if not all(fits):
            raise ValueError(
                f"out must be a trajectory of {steps} steps from an earlier rollout of the same "
                f"vector environment, got observations of shape {trajectory.observations.shape}."
            )
        return found

    def trajectory(self, actions: Any, env: KernelEnv) -> Trajectory:
        """Return the trajectory, with time as first and environments as second axis."""
        seen, space = self.observations, env.observation_space
        if isinstance(space, Discrete):
            seen = seen[..., 0]
        elif isinstance(space, Tuple):
            parts = tuple_parts(space)
            seen = tuple(seen[:, at].swapaxes(1, -1).astype(dtype) for _, at, dtype in parts)
        discrete = isinstance(env.action_space, Discrete)
        actions = actions[:, 0] if discrete else actions.swapaxes(1, 2)
        return Trajectory(seen, actions, self.rewards, self.flags[0], self.flags[1])
