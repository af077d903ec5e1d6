"""How large a value may be, so that no sender decides how much memory its reader spends."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["DEFAULT_LIMITS", "MAX_AXES", "DecodeLimits", "Limits"]

MAX_AXES = 32
"""Axes of an array in every version of NumPy."""

_CEILINGS = {
    # Encoding descends by recursion; this leaves Python's own limit out of reach.
    "depth": 200,
    # The length fields of MessagePack have 32 bits, and an array has a header before its data.
    "items": 2**32 - 1,
    "string_bytes": 2**32 - 1,
    "array_bytes": 2**32 - 256,
    "integer_bytes": 2**16,
}


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """What ``encode`` writes and ``decode`` accepts at most.

    Raises:
        ValueError: A limit is no int, negative, or above what the format can hold.
    """

    total_bytes: int = 2**26
    """The whole encoding."""
    depth: int = 32
    """Lists, tuples and dicts inside each other."""
    items: int = 1_000_000
    """Entries of all lists, tuples and dicts together; a key and its value are one entry."""
    string_bytes: int = 2**24
    """One text in UTF-8, or one bytes object."""
    array_bytes: int = 2**26
    """The data of one array."""
    key_bytes: int = 1024
    """One key of a dict in UTF-8."""
    integer_bytes: int = 128
    """One integer beyond 64 bits."""
    int_keys: int = 10_000
    """Integer keys of all dicts together: unlike texts, they can be made to collide in a hash."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value, ceiling = getattr(self, item.name), _CEILINGS.get(item.name)
            if type(value) is not int or value < 0:
                raise ValueError(
                    f"DecodeLimits.{item.name} must be an int of at least 0, got {value!r}."
                )
            if ceiling is not None and value > ceiling:
                raise ValueError(f"DecodeLimits.{item.name} can be at most {ceiling}, got {value}.")


Limits = DecodeLimits  # the old name


DEFAULT_LIMITS = DecodeLimits()
