"""Gym's seeding: the hash of a seed initialises NumPy's ``RandomState``.

Environments then draw the same numbers as in Gym up to 0.21. Hashing gives consecutive seeds
unrelated streams, which the Mersenne Twister alone does not.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np

from ludus.errors import Error

__all__ = ["checked_seed", "create_seed", "hash_seed", "np_random", "seed_words"]


def np_random(seed: int | None = None) -> tuple[np.random.RandomState, int]:
    """Return a generator and its seed; ``None`` draws a seed from the operating system.

    Raises:
        Error: The seed is not a non-negative int.
    """
    used = checked_seed(seed)
    generator = np.random.RandomState()
    generator.seed(seed_words(used))
    return generator, used


def checked_seed(seed: int | None) -> int:
    """Validate a seed; ``None`` draws one from the operating system.

    Raises:
        Error: The seed is not a non-negative int.
    """
    if seed is not None and not (isinstance(seed, int) and seed >= 0):
        raise Error(f"Seed must be a non-negative integer or omitted, not {seed!r}.")
    return create_seed(seed)


def create_seed(a: int | str | None = None, max_bytes: int = 8) -> int:
    """Return a seed of at most ``max_bytes`` bytes, from ``a`` or from the operating system.

    Raises:
        Error: ``a`` is neither an int nor a string.
    """
    if a is None:
        return int.from_bytes(os.urandom(max_bytes), "little")
    if isinstance(a, str):
        text = a.encode()
        return int.from_bytes((text + hashlib.sha512(text).digest())[:max_bytes], "little")
    if isinstance(a, int):
        return int(a % 2 ** (8 * max_bytes))
    raise Error(f"Invalid type for a seed: {type(a)} ({a!r}); pass an int, a string or None.")


def hash_seed(seed: int | None = None, max_bytes: int = 8) -> int:
    """Return the first bytes of the SHA-512 hash of a seed's decimal digits as an integer."""
    if seed is None:
        seed = create_seed(max_bytes=max_bytes)
    digest = hashlib.sha512(str(seed).encode()).digest()
    return int.from_bytes(digest[:max_bytes], "little")


def seed_words(seed: int) -> list[int]:
    """Return the hash of a seed as 32-bit words, lowest first."""
    hashed = hash_seed(seed)
    words = []
    while hashed:
        hashed, word = divmod(hashed, 2**32)
        words.append(word)
    return words or [0]
