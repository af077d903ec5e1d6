"""PCG64 as five words of memory: the state of NumPy's generator for compiled code.

A row of a uint64 array: the high and low half of the state, those of the increment, and the 32 bits
that NumPy keeps from the last 64-bit draw (bit 32 is set if there are any).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ludus.seeding import check_seed

__all__ = [
    "DRAW",
    "HASH",
    "LANES",
    "MIX",
    "MULTIPLIER",
    "POOL",
    "WORDS",
    "WordsRng",
    "generator_to_words",
    "hash_constants",
    "seed_to_words",
    "words_to_generator",
]

WORDS = 5
_LOW32, _LOW, _LOW128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_SPARE = 1 << 32


POOL = 4
"""How many 32-bit words ``SeedSequence`` mixes a seed into."""
LANES = 8
"""How many seeds native code hashes at once."""
HASH = (0x43B0D7E5, 0x931E8875)
DRAW = (0x8B51F9DD, 0x58F38DED)
"""Initial constant of a hash, and its factor at each use."""
MIX = (0xCA01F9DD, 0x4973F715)


def hash_constants(constant: int, factor: int) -> Iterator[tuple[int, int]]:
    """Yield the two constants of each use of a hash."""
    while True:
        before, constant = constant, constant * factor & _LOW32
        yield before, constant


_POOL_HASH = list(itertools.islice(hash_constants(*DRAW), 2 * POOL))


def generator_to_words(generator: np.random.Generator, words: Any) -> None:
    """Store a PCG64 generator's state in five words.

    Raises:
        TypeError: The generator is of another kind.
    """
    state = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"Kernels draw from PCG64, got a {state['bit_generator']} generator.")
    inner = state["state"]
    words[0], words[1] = inner["state"] >> 64, inner["state"] & _LOW
    words[2], words[3] = inner["inc"] >> 64, inner["inc"] & _LOW
    words[4] = state["uinteger"] | (_SPARE if state["has_uint32"] else 0)


def words_to_generator(words: Any) -> np.random.Generator:
    """Return the NumPy generator with the state in five words."""
    hi, lo, inc_hi, inc_lo, spare = (int(word) for word in words)
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": hi << 64 | lo, "inc": inc_hi << 64 | inc_lo},
        "has_uint32": spare >> 32 & 1,
        "uinteger": spare & 0xFFFFFFFF,
    }
    return np.random.Generator(bits)


def seed_to_words(seed: int | None, words: Any) -> int:
    """Seed five words as ``np_random(seed)`` seeds a generator; return the seed.

    NumPy mixes the seed into a pool of four numbers. The generator's state is then computed here,
    in half of the time that building a generator and reading its state takes.

    Raises:
        Error: The seed is not a Python int, or negative.
    """
    if seed is not None:
        check_seed(seed)
    sequence = np.random.SeedSequence(seed)
    drawn = []
    for number, (xor, factor) in zip(sequence.pool.tolist() * 2, _POOL_HASH, strict=True):
        hashed = (number ^ xor) * factor & _LOW32
        drawn.append(hashed ^ hashed >> 16)
    a, b, c, d, e, f, g, h = drawn
    start = b << 96 | a << 64 | d << 32 | c
    increment = (f << 97 | e << 65 | h << 33 | g << 1 | 1) & _LOW128
    state = ((start + increment) * MULTIPLIER + increment) & _LOW128
    words[:] = state >> 64, state & _LOW, increment >> 64, increment & _LOW, 0
    return sequence.entropy  # type: ignore[return-value]


class WordsRng:
    """A row of words as the ``rng`` of a kernel in plain Python."""

    def __init__(self, words: Any, row: int) -> None:
        self._words = words[row]

    def _next64(self) -> int:
        words = self._words
        state = int(words[0]) << 64 | int(words[1])
        increment = int(words[2]) << 64 | int(words[3])
        state = (state * MULTIPLIER + increment) & _LOW128
        words[0], words[1] = state >> 64, state & _LOW
        value = state >> 64 ^ state & _LOW
        turn = state >> 122
        return (value >> turn | value << (64 - turn & 63)) & _LOW

    def _next32(self) -> int:
        spare = int(self._words[4])
        if spare & _SPARE:
            self._words[4] = spare & 0xFFFFFFFF
            return spare & 0xFFFFFFFF
        drawn = self._next64()
        self._words[4] = drawn >> 32 | _SPARE
        return drawn & 0xFFFFFFFF

    def random(self) -> float:
        """Return a number from [0, 1)."""
        return (self._next64() >> 11) * (1.0 / 9007199254740992.0)

    def uniform(self, low: float, high: float) -> float:
        """Return a number from [low, high)."""
        return low + (high - low) * self.random()

    def integers(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high - 1``, by Lemire's method as NumPy does."""
        span = high - 1 - low
        if span <= 0:
            return low
        if span < 0xFFFFFFFF:
            return low + self._bounded(span, 32, self._next32)
        if span == 0xFFFFFFFF:
            return low + self._next32()
        return low + self._bounded(span, 64, self._next64)

    @staticmethod
    def _bounded(span: int, bits: int, draw: Any) -> int:
        count, top = span + 1, (1 << bits) - 1
        product = draw() * count
        if product & top < count:
            threshold = (top - span) % count
            while product & top < threshold:
                product = draw() * count
        return int(product >> bits)
