"""Exceptions of the spaces, which derive from Ludus's and from built-in ones.

Each one is also an ``AssertionError``, because code written for Gymnasium and classic Gym catches
that around constructors and ``sample(mask=...)``.
"""

from __future__ import annotations

from ludus.errors import Error

__all__ = [
    "NotASpaceError",
    "SpaceRangeError",
    "SpaceTypeError",
    "SpaceValueError",
    "conversion_hint",
]


class SpaceValueError(Error, ValueError, AssertionError):
    """An argument of a space, a mask or a flattened sample has an invalid value."""


class SpaceTypeError(Error, TypeError, AssertionError):
    """An argument of a space, a mask or a seed has an invalid type."""


class SpaceRangeError(SpaceValueError, OverflowError):
    """A number does not fit into the dtype of the space."""


class NotASpaceError(SpaceTypeError, AttributeError):
    """An argument is not a space."""


def conversion_hint(value: object) -> str:
    """Return a hint how to convert a space of Gymnasium, ``""`` for anything else."""
    if any(base.__module__.startswith("gymnasium.spaces") for base in type(value).__mro__):
        return "; convert it with ludus.interop.gymnasium.from_gymnasium_space(space)"
    return ""
