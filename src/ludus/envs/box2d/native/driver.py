# mypy: disable-error-code="untyped-decorator"
"""The compiled loops over a batch, behind one function that takes numbers only. Imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from ludus.envs.box2d.bipedal_terrain import LENGTH, MOST_BLOCKS
from ludus.envs.box2d.native import engine, lander, walker
from ludus.envs.box2d.native.batch import (
    DESTROY,
    JOINTS,
    LANDER,
    LISTENER_WORDS,
    MEMOS,
    RAY_WORDS,
    REPLAY,
    RESTART,
    WHAT,
    WORLD_BYTES,
    Batch,
)
from ludus.kernel.generator import WORDS
from ludus.kernel.native.numba_intrinsics import pointer, word

__all__ = ["drive"]

ALIVE = LISTENER_WORDS - 1
_compiled = engine.compiled
_FIRST = WHAT + 1


def drive(table: int, first: int, last: int) -> int:
    """Do what the table says with the environments from ``first`` to ``last - 1``.

    ``STEP`` steps, or begins a new episode where one is over; ``RESTART`` begins where one is over;
    ``REPLAY`` runs the logged episodes again; ``DESTROY`` frees all memory.

    Args:
        table: Address of what ``make_table`` returned.
        first: The first environment.
        last: The one after the last.

    Returns:
        How many episodes ended in a step.
    """
    batch, what, ended = _read(table), word(table, WHAT), 0
    for i in range(first, last):
        if what == DESTROY:
            _destroy(batch, i)
        elif what == REPLAY:
            _replay(batch, i)
        elif batch.waiting[i]:
            _begin(batch, i)
            if what != RESTART:
                batch.rewards[i] = 0.0
                batch.terminated[i] = batch.truncated[i] = False
        elif what != RESTART:
            ended += _step(batch, i, word(table, 1))
    return ended


@_compiled
def _step(batch: Batch, i: int, limit: int) -> int:
    _copy(batch.actions[i], batch.log[i, batch.elapsed[i]])
    batch.terminated[i] = _advance(batch, i, batch.actions[i])
    batch.elapsed[i] += 1
    batch.truncated[i] = batch.elapsed[i] >= limit
    batch.waiting[i] = batch.terminated[i] or batch.truncated[i]
    return 1 if batch.waiting[i] else 0


@_compiled
def _begin(batch: Batch, i: int) -> None:
    _destroy(batch, i)
    _copy(batch.words[i], batch.starts[i])
    batch.listeners[i, ALIVE] = 1
    if batch.options[0] == LANDER:
        lander.begin(batch, i)
    else:
        walker.begin(batch, i)
    batch.elapsed[i] = 0
    batch.waiting[i] = False


@_compiled
def _replay(batch: Batch, i: int) -> None:
    steps, waiting = batch.elapsed[i], batch.waiting[i]
    _copy(batch.starts[i], batch.words[i])
    _begin(batch, i)
    for k in range(steps):
        _advance(batch, i, batch.log[i, k])
    batch.elapsed[i], batch.waiting[i] = steps, waiting


@_compiled
def _advance(batch: Batch, i: int, action: Any) -> Any:
    if batch.options[0] == LANDER:
        return lander.advance(batch, i, action)
    return walker.advance(batch, i, action)


@_compiled
def _destroy(batch: Batch, i: int) -> None:
    if batch.listeners[i, ALIVE] != 0:
        batch.listeners[i, ALIVE] = 0
        engine.destroy_world(batch.worlds[i].ctypes.data)


@_compiled
def _copy(source: Any, target: Any) -> None:
    # By hand: to assign arrays may raise, and the code for that needs all of numba.
    for k in range(len(source)):
        target[k] = source[k]


@_compiled
def _read(table: int) -> Batch:
    n, steps, action, seen = word(table, 0), word(table, 2), word(table, 3), word(table, 4)
    parts, options = word(table, 5), word(table, 6)
    return Batch(
        carray(_array(table, 0), (n, WORLD_BYTES), np.uint8),
        carray(_array(table, 1), (n, parts), np.int64),
        carray(_array(table, 2), (n, LISTENER_WORDS), np.int64),
        carray(_array(table, 3), (n, JOINTS), np.int64),
        carray(_array(table, 4), (n, RAY_WORDS), np.int64),
        carray(_array(table, 5), (n, WORDS), np.uint64),
        carray(_array(table, 6), (n, WORDS), np.uint64),
        carray(_array(table, 7), (n, MEMOS), np.float64),
        carray(_array(table, 8), (n, LENGTH), np.float64),
        carray(_array(table, 9), (n, MOST_BLOCKS, 8), np.float64),
        carray(_array(table, 10), (options,), np.float64),
        carray(_array(table, 11), (action,), np.float64),
        carray(_array(table, 12), (n, action), np.float64),
        carray(_array(table, 13), (n, steps, action), np.float64),
        carray(_array(table, 14), (n, seen), np.float32),
        carray(_array(table, 15), (n,), np.float64),
        carray(_array(table, 16), (n,), np.bool_),
        carray(_array(table, 17), (n,), np.bool_),
        carray(_array(table, 18), (n,), np.bool_),
        carray(_array(table, 19), (n,), np.int64),
    )


@_compiled
def _array(table: int, number: int) -> Any:
    return pointer(word(table, _FIRST + number))
