"""Checks of the ``mask`` and ``probability`` arguments of ``sample``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.spaces.errors import SpaceTypeError, SpaceValueError

__all__ = [
    "MASK",
    "PROBABILITY",
    "check_array",
    "check_binary",
    "check_interval",
    "check_weights",
    "only_one",
]

MASK = "mask"
PROBABILITY = "probability"

_DTYPES = {MASK: np.dtype(np.int8), PROBABILITY: np.dtype(np.float64)}


def only_one(mask: object, probability: object) -> tuple[str, Any]:
    """Return which of the two was given, and its value.

    Raises:
        SpaceValueError: Both were given.
    """
    if probability is None:
        return MASK, mask
    if mask is None:
        return PROBABILITY, probability
    raise SpaceValueError(
        "sample takes only one of `mask` or `probability`, got both: "
        f"mask={mask}, probability={probability}"
    )


def check_array(kind: str, value: object, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``value`` if it is an array of this shape, of int8 (mask) or float64 (probability)."""
    if not isinstance(value, np.ndarray):
        raise SpaceTypeError(
            f"The sample {kind} should be a np.ndarray, got {value!r} of {type(value)}"
        )
    dtype = _DTYPES[kind]
    if value.dtype != dtype:
        raise SpaceValueError(f"The sample {kind} should have dtype np.{dtype}, got {value.dtype}")
    if value.shape != shape:
        raise SpaceValueError(f"The sample {kind} should have the shape {shape}, got {value.shape}")
    return value


def check_binary(mask: NDArray[Any], largest: int = 1) -> None:
    """Raise unless every entry of the mask is one of 0, 1, …, ``largest``."""
    if not ((mask >= 0) & (mask <= largest)).all():
        allowed = "0 or 1" if largest == 1 else "0, 1 or 2"
        raise SpaceValueError(f"The sample mask should hold {allowed} only, got {mask}")


def check_interval(probability: NDArray[Any]) -> None:
    """Raise unless every probability lies between 0 and 1."""
    if not ((probability >= 0) & (probability <= 1)).all():
        raise SpaceValueError(
            f"The sample probability should lie between 0 and 1, got {probability}"
        )


def check_weights(kind: str, value: object, count: int) -> NDArray[Any]:
    """Return ``value`` if it is a mask of 0 and 1, or probabilities, for ``count`` values."""
    weights = check_array(kind, value, (count,))
    if kind == MASK:
        check_binary(weights)
        return weights
    check_interval(weights)
    total = weights.sum()
    if not np.isclose(total, 1):
        raise SpaceValueError(f"The sample probability should sum to 1, got a sum of {total}")
    return weights
