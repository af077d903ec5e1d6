"""NumPy's seeding of PCG64, vectorised over many seeds.

``SeedSequence`` mixes the 32-bit words of a seed into a pool of four and draws the generator's
first state from it, which takes 15 microseconds per seed; here every operation works on all seeds.
``native/call/seed.py`` does the same in native code.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ludus.kernel.generator import (
    DRAW,
    HASH,
    LANES,
    MIX,
    MULTIPLIER,
    POOL,
    WORDS,
    hash_constants,
    seed_to_words,
)
from ludus.seeding import check_seed

__all__ = ["seed_rows", "seed_streams", "seeds_to_words"]

_LARGEST = 1 << 32 * POOL
_LOW32 = 0xFFFFFFFF
_MIX_LEFT, _MIX_RIGHT = map(np.uint32, MIX)
_16, _32, _63, _1 = np.uint32(16), np.uint64(32), np.uint64(63), np.uint64(1)
_MASK = np.uint64(_LOW32)
_BY_HIGH, _BY_LOW = np.uint64(MULTIPLIER >> 64), np.uint64(MULTIPLIER & (1 << 64) - 1)

Pair = tuple[Any, Any]
"""High and low half of 128-bit numbers, an array of each."""


def seed_rows(
    words: Any,
    seeds: Sequence[int | None],
    chosen: Any,
    started: Any,
    *,
    native: bool = False,
) -> dict[int, int]:
    """Seed those of the chosen rows that have a seed, or were never seeded.

    Args:
        words: A row for each environment.
        seeds: A seed for each; ``None`` leaves a row that was seeded before unchanged.
        chosen: For each row whether it may be seeded.
        started: For each row whether it was seeded before.
        native: Whether to compute in native code instead of NumPy.

    Returns:
        The seeds used, by row.

    Raises:
        Error: A seed is not a Python int, or negative; nothing has changed then.
    """
    rows = np.flatnonzero(chosen).tolist()
    due = [row for row in rows if seeds[row] is not None or not started[row]]
    wanted = [seeds[row] for row in due]
    # As many bits as NumPy takes from the system for a generator without a seed.
    used = [secrets.randbits(128) if seed is None else check_seed(seed) for seed in wanted]
    if due:
        drawn = np.empty((len(due), WORDS), np.uint64)
        seeds_to_words(used, drawn, native=native)
        words[due] = drawn
    return dict(zip(due, used, strict=True))


def seed_streams(
    words: Any,
    seeds: Sequence[int | None],
    mask: Any,
    started: Any,
    *,
    before: Sequence[int | None],
    native: bool,
) -> Sequence[int | None]:
    """Seed rows as :func:`seed_rows` does, and return the seeds of all rows.

    A ``mask`` of ``None`` is all rows; ``before`` are the previous seeds.
    """
    if mask is None and isinstance(seeds, range):
        check_seed(seeds.start)
        seeds_to_words(seeds, words, native=native)
        return seeds
    chosen = np.ones(len(words), np.bool_) if mask is None else mask
    used = seed_rows(words, seeds, chosen, started, native=native)
    return [used.get(row, seed) for row, seed in enumerate(before)]


def seeds_to_words(seeds: Sequence[int], words: Any, *, native: bool = False) -> None:
    """Set row ``i`` of the words to the state of ``np.random.PCG64(seeds[i])``.

    Args:
        seeds: The seeds.
        words: A row for each, in C order.
        native: Whether to compute in native code instead of NumPy.
    """
    largest = seeds[-1] if isinstance(seeds, range) else max(seeds)
    if largest >= _LARGEST:
        for row, seed in enumerate(seeds):
            seed_to_words(seed, words[row])
        return
    entropy = _entropy(seeds, largest)
    if native:
        # Imported here: plain Python starts without it.
        from ludus.kernel.native.call.seed import seeding_function

        where = entropy.ctypes.data, entropy.shape[1], len(seeds), words.ctypes.data
        seeding_function()(*where)
        return
    high, low, sequence_high, sequence_low = _drawn(_stirred(entropy[:, : len(seeds)]))
    increment = (sequence_high << _1 | sequence_low >> _63, sequence_low << _1 | _1)
    state = _added(_multiplied(_added(increment, (high, low))), increment)
    words[:, 0], words[:, 1] = state
    words[:, 2], words[:, 3] = increment
    words[:, 4] = 0


def _entropy(seeds: Sequence[int], largest: int) -> Any:
    """Return the 32-bit parts of each seed, lowest first, each row padded to ``LANES``."""
    count = len(seeds)
    entropy = np.zeros((POOL, -(-count // LANES) * LANES), np.uint32)
    if isinstance(seeds, range) and largest < 1 << 63:
        numbers = np.arange(seeds.start, seeds.stop, seeds.step)
        entropy[0, :count] = numbers
        entropy[1, :count] = numbers >> 32
        return entropy
    for part in range(-(-largest.bit_length() // 32)):
        entropy[part, :count] = [seed >> 32 * part & _LOW32 for seed in seeds]
    return entropy


def _hashed(values: Any, constants: Iterator[tuple[int, int]]) -> Any:
    """Return the multiplicative hash of the values, whose constants change with each use."""
    before, after = map(np.uint32, next(constants))
    values = (values ^ before) * after
    return values ^ values >> _16


def _stirred(entropy: Any) -> list[Any]:
    uses = hash_constants(*HASH)
    pool = [_hashed(part, uses) for part in entropy]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                mixed = pool[target] * _MIX_LEFT - _hashed(pool[source], uses) * _MIX_RIGHT
                pool[target] = mixed ^ mixed >> _16
    return pool


def _drawn(pool: list[Any]) -> list[Any]:
    uses = hash_constants(*DRAW)
    halves = [_hashed(pool[k % POOL], uses).astype(np.uint64) for k in range(2 * POOL)]
    return [low | high << _32 for low, high in zip(halves[::2], halves[1::2], strict=True)]


def _added(a: Pair, b: Pair) -> Pair:
    low = a[1] + b[1]
    return a[0] + b[0] + (low < a[1]), low


def _multiplied(a: Pair) -> Pair:
    """Return ``a`` times the generator's multiplier, modulo 2**128."""
    high, low = a
    upper, lower = low >> _32, low & _MASK
    by_upper, _BY_LOWer = _BY_LOW >> _32, _BY_LOW & _MASK
    middle = upper * _BY_LOWer + (lower * _BY_LOWer >> _32)
    other = lower * by_upper + (middle & _MASK)
    carried = upper * by_upper + (middle >> _32) + (other >> _32)
    return carried + high * _BY_LOW + low * _BY_HIGH, low * _BY_LOW
