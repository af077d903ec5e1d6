"""A batch of worlds as compiled code sees it: arrays with one row per environment."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.box2d.bipedal_terrain import LENGTH, MOST_BLOCKS
from ludus.kernel.generator import WORDS

__all__ = [
    "DESTROY",
    "JOINTS",
    "LANDER",
    "LISTENER_WORDS",
    "MEMOS",
    "RAY_WORDS",
    "REPLAY",
    "RESTART",
    "STEP",
    "WALKER",
    "WHAT",
    "WORLD_BYTES",
    "Batch",
    "checked_shape",
    "make_batch",
    "make_table",
]

STEP, RESTART, REPLAY, DESTROY = range(4)
"""What compiled code can do with a batch."""
WHAT = 7
"""Where a table tells which of them."""
LANDER, WALKER = range(2)
"""What an environment can be: the first of its options."""

JOINTS, MEMOS, RAY_WORDS, LISTENER_WORDS = 4, 3, 4, 12
WORLD_BYTES = 1 << 17
"""Memory for one world, which takes 103,296 bytes."""


class Batch(NamedTuple):
    """The arrays of a batch.

    Compiled code writes a row only while it works on that row's environment; ``options`` and
    ``idle`` are shared, and nobody writes them.
    """

    worlds: Any
    """Memory of the worlds."""
    parts: Any
    """Addresses of the definitions that a world is built from."""
    listeners: Any
    """What each world reports to: a table of functions, the body that must not touch and two feet,
    whether each of them touches, how many contacts there are; for the lander's joints, how many
    calls to skip, and the joints; and last whether there is a world."""
    joints: Any
    """Addresses of the joints."""
    rays: Any
    """What a ray reports to: a table of functions, how far it got; then its two ends."""
    words: Any
    """Random streams."""
    starts: Any
    """Where the random streams stood when the episodes began."""
    memo: Any
    """What the next step needs: the last shaping, and where the wind is."""
    heights: Any
    """Of the ground, as it was drawn."""
    blocks: Any
    """Corners of the blocks that stand on it."""
    options: Any
    """What the environments are, and their options."""
    idle: Any
    """The action that does nothing."""
    actions: Any
    log: Any
    """Actions since the episodes began."""
    observations: Any
    rewards: Any
    terminated: Any
    truncated: Any
    waiting: Any
    """Whose episode is over."""
    elapsed: Any
    """Steps since the episodes began."""


def make_batch(
    parts: Any, options: list[float], *, action_size: int, observation_size: int, log_size: int
) -> Batch:
    """Return the arrays of environments that have not begun.

    Args:
        parts: Addresses of the definitions, one row per environment.
        options: The numbers in ``Batch.options``.
        action_size: How many numbers an action has.
        observation_size: How many numbers an observation has.
        log_size: For how many actions there is room.
    """
    n = len(parts)

    def table(columns: int, dtype: Any = np.float64) -> Any:
        return np.zeros((n, columns), dtype)

    return Batch(
        # Left as it comes: most of it is never touched.
        worlds=np.empty((n, WORLD_BYTES), np.uint8),
        parts=np.array(parts, np.int64),
        listeners=table(LISTENER_WORDS, np.int64),
        joints=table(JOINTS, np.int64),
        rays=table(RAY_WORDS, np.int64),
        words=table(WORDS, np.uint64),
        starts=table(WORDS, np.uint64),
        memo=table(MEMOS),
        heights=table(LENGTH),
        blocks=np.zeros((n, MOST_BLOCKS, 8)),
        options=np.array(options, np.float64),
        idle=np.zeros(action_size),
        actions=table(action_size),
        log=np.zeros((n, log_size, action_size)),
        observations=table(observation_size, np.float32),
        rewards=np.zeros(n),
        terminated=np.zeros(n, np.bool_),
        truncated=np.zeros(n, np.bool_),
        waiting=np.ones(n, np.bool_),
        elapsed=np.zeros(n, np.int64),
    )


def make_table(batch: Batch, limit: int) -> Any:
    """Return what compiled code finds a batch by: sizes, what to do, the arrays' addresses.

    It holds as long as the arrays live.
    """
    n, log_size, action_size = batch.log.shape
    sizes = (n, limit, log_size, action_size, batch.observations.shape[1], batch.parts.shape[1])
    return np.array([*sizes, batch.options.size, STEP, *(a.ctypes.data for a in batch)], np.int64)


def checked_shape(given: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of actions as it is.

    Raises:
        ValueError: It has another shape.
    """
    if given.shape != shape:
        raise ValueError(
            f"Expected {shape[0]} actions, one per environment, in an array of shape {shape}; got "
            f"the shape {given.shape}."
        )
    return given
