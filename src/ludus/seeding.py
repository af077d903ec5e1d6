"""Seeding of random generators.

``np_random`` returns the same stream as Gymnasium for the same seed. ``derive_seed`` derives a seed
for each part of a run (``"action_space"``, ``("worker", 3)``, …) from a root seed. The seeds are
independent of each other, the same on every machine, and unchanged when parts are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import Error, StateError

__all__ = [
    "RNG",
    "RandomNumberGenerator",
    "derive_seed",
    "generator_from_state",
    "generator_state",
    "np_random",
]

RNG = RandomNumberGenerator = np.random.Generator


def np_random(seed: int | None = None) -> tuple[np.random.Generator, int]:
    """Return a PCG64 generator and its seed; ``None`` draws a seed from the operating system.

    Raises:
        Error: The seed is not a Python int, or negative.
    """
    if seed is not None:
        check_seed(seed)
    sequence = np.random.SeedSequence(seed)
    entropy = sequence.entropy
    return np.random.Generator(np.random.PCG64(sequence)), entropy  # type: ignore[return-value]


def check_seed(seed: object) -> int:
    """Return ``seed`` if it is a non-negative int, else raise :class:`Error`."""
    if not isinstance(seed, int):
        hint = f"; write int({seed!s})" if isinstance(seed, np.integer) else ""
        raise Error(f"Seed must be a python integer, actual type: {type(seed)}{hint}")
    if seed < 0:
        raise Error(f"Seed must be greater or equal to zero, actual value: {seed}")
    return seed


def derive_seed(root: int, *path: str | int) -> int:
    """Return the 63-bit seed of the stream ``path``, derived from the root seed.

    Example:
        >>> derive_seed(7, "action_space") == derive_seed(7, "action_space")
        True
        >>> derive_seed(7, "worker", 0) == derive_seed(7, "worker", 1)
        False
    """
    import hashlib

    check_seed(root)
    # With types and lengths, so that ("ab", "c") and ("a", "bc"), or 1 and "1", differ.
    parts = [f"{type(part).__name__}:{len(str(part))}:{part}" for part in path]
    text = "/".join([str(root), *parts])
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """Return a generator's state as plain data; 128-bit integers become hexadecimal strings."""
    raw = generator.bit_generator.state
    plain: dict[str, Any] = {"bit_generator": raw["bit_generator"]}
    for key, value in raw.items():
        if key == "state":
            plain["state"] = {
                name: hex(word) if isinstance(word, int) else word for name, word in value.items()
            }
        elif key != "bit_generator":
            plain[key] = value
    return plain


def generator_from_state(state: dict[str, Any]) -> np.random.Generator:
    """Build a generator from the result of :func:`generator_state`.

    Raises:
        StateError: The data does not describe a NumPy bit generator.
    """
    kinds = {
        kind.__name__: kind
        for kind in (
            np.random.PCG64,
            np.random.PCG64DXSM,
            np.random.MT19937,
            np.random.Philox,
            np.random.SFC64,
        )
    }
    try:
        bit_generator = kinds[state["bit_generator"]]()
        raw = dict(state)
        raw["state"] = {
            name: int(word, 16) if isinstance(word, str) else word
            for name, word in state["state"].items()
        }
        bit_generator.state = raw  # type: ignore[assignment]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise StateError(
            f"Not the state of a random generator: {problem!r}. Pass the result of "
            f"generator_state(); its 'bit_generator' is one of {sorted(kinds)}."
        ) from problem
    return np.random.Generator(bit_generator)
