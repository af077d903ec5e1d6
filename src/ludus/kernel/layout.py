"""The arrays that a driver works on, and their places in its table.

Compiled code receives one address: that of a table of 64-bit numbers, with the address and the
sizes of each array. So a call passes few numbers for any kernel, and no references are counted.
Plain Python receives the arrays themselves, at the same places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Layout", "Place"]


class Place(NamedTuple):
    """One array: its name, its dtype such as ``f8``, its number of axes, its index in the table."""

    name: str
    code: str
    ndim: int
    at: int

    @property
    def expression(self) -> str:
        """The driver's expression for the array."""
        sizes = "".join(f"_word(Z, {self.at + 1 + axis}), " for axis in range(self.ndim))
        return f"_carray(_pointer(_word(Z, {self.at})), ({sizes}), _{self.code})"


class Layout(tuple[Place, ...]):
    """The places of all arrays."""

    __slots__ = ()

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> Layout:
        """Return the layout of arrays, in their order."""
        return _laid_out(*[(name, array.dtype, array.ndim) for name, array in arrays.items()])

    @property
    def size(self) -> int:
        """Number of words of the arrays; one more follows, the address of actions to copy."""
        return sum(1 + place.ndim for place in self)

    def words(self, arrays: dict[str, Any]) -> list[int]:
        """Return the table of the arrays, which must outlive it."""
        words: list[int] = []
        for place in self:
            array = arrays[place.name]
            words += (array.ctypes.data, *array.shape)
        return words

    def by_place(self, arrays: dict[str, Any]) -> dict[int, Any]:
        """Return the table for plain Python."""
        words: list[Any] = []
        for place in self:
            array = arrays[place.name]
            words += (array, *array.shape)
        return dict(enumerate(words))


@lru_cache(maxsize=256)
def _laid_out(*arrays: tuple[str, Any, int]) -> Layout:
    """Return the places of arrays by name, dtype and number of axes."""
    places, at = [], 0
    for name, dtype, ndim in arrays:
        places.append(Place(name, dtype.str[1:], ndim, at))
        at += 1 + ndim
    return Layout(places)
