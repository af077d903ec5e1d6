"""Which arrays a driver works on, and where in its table it finds each.

Compiled code gets one address: that of a table of 64-bit numbers, with the address and the sizes of
each array in turn. A call so passes few numbers, whatever the kernel, and the arrays have no owner
whose references would be counted. Plain Python gets the arrays themselves, by the same places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Layout", "Place"]


class Place(NamedTuple):
    """One array: its name, its dtype as ``f8`` or the like, its axes, and where its words begin."""

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
        """Lay out arrays in the order in which they come."""
        return _laid_out(*[(name, array.dtype, array.ndim) for name, array in arrays.items()])

    @property
    def size(self) -> int:
        """How many words the arrays take; one follows: the address of actions to be copied."""
        return sum(1 + place.ndim for place in self)

    def words(self, arrays: dict[str, Any]) -> list[int]:
        """Return the table that describes the arrays, which must outlive it."""
        words: list[int] = []
        for place in self:
            array = arrays[place.name]
            words += (array.ctypes.data, *array.shape)
        return words

    def by_place(self, arrays: dict[str, Any]) -> dict[int, Any]:
        """Return what plain Python takes for the table."""
        table: dict[int, Any] = {}
        for place in self:
            array = arrays[place.name]
            table |= enumerate((array, *array.shape), place.at)
        return table


@lru_cache(maxsize=256)
def _laid_out(*arrays: tuple[str, Any, int]) -> Layout:
    """Return the places of arrays by name, dtype and number of axes."""
    places, at = [], 0
    for name, dtype, ndim in arrays:
        places.append(Place(name, dtype.str[1:], ndim, at))
        at += 1 + ndim
    return Layout(places)
