"""What the spaces raise: built-in kinds of exceptions that are also ludus' own.

Each one is an ``AssertionError`` too, because code written for Gymnasium and classic Gym catches
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
    """A space's argument, a mask or a flattened sample has a value that does not fit."""


class SpaceTypeError(Error, TypeError, AssertionError):
    """A space's argument, a mask or a seed is of a type that does not fit."""


class SpaceRangeError(SpaceValueError, OverflowError):
    """A number does not fit into the dtype of the space."""


class NotASpaceError(SpaceTypeError, AttributeError):
    """Something else was passed where a space is needed."""


def conversion_hint(value: object) -> str:
    """Return how to convert a space of Gymnasium's, ``""`` for anything else."""
    if any(base.__module__.startswith("gymnasium.spaces") for base in type(value).__mro__):
        return "; convert it with ludus.interop.gymnasium.from_gymnasium_space(space)"
    return ""
