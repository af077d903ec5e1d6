"""Limits on the size of encoded values, which bound the memory that decoding takes."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["DEFAULT_LIMITS", "MAX_AXES", "DecodeLimits", "Limits"]

MAX_AXES = 32
"""Number of array axes that every version of NumPy supports."""

_CEILINGS = {
    # Encoding is recursive; this stays below Python's recursion limit.
    "depth": 200,
    # The length fields of MessagePack have 32 bits, and an array has a header before its data.
    "items": 2**32 - 1,
    "string_bytes": 2**32 - 1,
    "array_bytes": 2**32 - 256,
    "integer_bytes": 2**16,
}


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """Limits on what ``encode`` writes and ``decode`` accepts.

    Raises:
        ValueError: A limit is not an int, negative, or above what the format can hold.
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
    """Integer keys of all dicts together; unlike texts, their hashes can be made to collide."""

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
