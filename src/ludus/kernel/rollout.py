"""Whole trajectories at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.kernel.env import KernelEnv
from ludus.kernel.memory import aligned_empty
from ludus.kernel.storage import Storage
from ludus.spaces import Discrete, Tuple

__all__ = ["Buffers", "Trajectory"]


class Trajectory(NamedTuple):
    """What ``steps`` steps of ``n`` environments returned; time is the first axis.

    ``observations[t]`` is what step ``t`` returned, after ``actions[t]``; if observations are
    tuples, there is a tuple of arrays, and ``observations[k][t]`` is its part ``k``.
    """

    observations: Any
    actions: Any
    rewards: Any
    terminations: Any
    truncations: Any


class Buffers(NamedTuple):
    """A trajectory in the order in which a driver writes it."""

    observations: Any
    rewards: Any
    flags: Any
    """Terminated, then truncated."""

    @classmethod
    def make(cls, storage: Storage, steps: int) -> Buffers:
        """Allocate for so many steps."""
        seen = aligned_empty((steps, *storage.seen.shape), storage.seen.dtype)
        rewards = aligned_empty((steps, storage.n))
        return cls(seen, rewards, np.empty((2, steps, storage.n), np.bool_))

    @classmethod
    def of(cls, trajectory: Trajectory, env: KernelEnv, storage: Storage, steps: int) -> Buffers:
        """Return those behind a trajectory that an earlier rollout returned.

        Raises:
            ValueError: It has another shape, or comes from elsewhere.
        """
        seen = trajectory.observations
        if isinstance(env.observation_space, Tuple):
            raise ValueError("Observations that are tuples cannot be written into out.")
        if isinstance(env.observation_space, Discrete):
            seen = seen[..., None]
        flags = trajectory.terminations.base
        found = cls(seen, trajectory.rewards, flags)
        shapes = [(steps, *storage.seen.shape), (steps, storage.n), (2, steps, storage.n)]
        dtypes = [storage.seen.dtype, np.dtype(np.float64), np.dtype(np.bool_)]
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
        """Return it in the order in which it is read: environments second."""
        seen, space = self.observations, env.observation_space
        if isinstance(space, Discrete):
            seen = seen[..., 0]
        elif isinstance(space, Tuple):
            seen = _parts(seen, space)
        discrete = isinstance(env.action_space, Discrete)
        actions = actions[:, 0] if discrete else actions.swapaxes(1, 2)
        return Trajectory(seen, actions, self.rewards, self.flags[0], self.flags[1])


def _parts(seen: Any, space: Tuple) -> tuple[Any, ...]:
    """Return the parts of tuples, each in its own dtype: in a row they lie as one kind."""
    parts, at = [], 0
    for part in space.spaces:
        if isinstance(part, Discrete):
            parts.append(seen[:, at].astype(np.int64))
            at += 1
        else:
            size = int(np.prod(part.shape or (1,)))
            parts.append(seen[:, at : at + size].swapaxes(1, 2).astype(part.dtype))
            at += size
    return tuple(parts)
