"""Reads untrusted plain data; errors name the place."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from ludus.spaces.bounds import dtype_limits, is_number
from ludus.spaces.errors import SpaceValueError
from ludus.spaces.space import is_integer

__all__ = ["DTYPES", "MAX_DEPTH", "MAX_ELEMENTS", "MAX_SPACES", "Node"]

_WIDTHS = {"float": (16, 32, 64), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}
DTYPES = ("bool", *(f"{kind}{width}" for kind, widths in _WIDTHS.items() for width in widths))
"""The portable dtypes."""

MAX_DEPTH = 32
"""Largest depth of nested spaces."""

MAX_ELEMENTS = 2**25
"""Largest total number of array entries of all spaces."""

MAX_SPACES = 2**17
"""Largest number of spaces that are built; some build those inside them twice."""

_MAX_AXES = 32  # of an array in every version of NumPy


class Node:
    """The description of one space within a larger one.

    Every method raises :class:`SpaceValueError` if the data does not have the expected type.
    """

    def __init__(
        self, data: object, path: str, depth: int, budget: list[int], copies: int = 1
    ) -> None:
        self.path = path
        self._depth = depth
        self._budget = budget  # elements and spaces that are left, shared by all nodes
        self._copies = copies  # how often this space is built
        budget[1] -= copies
        if budget[1] < 0:
            self.fail(f"there are more than {MAX_SPACES} spaces")
        if depth > MAX_DEPTH:
            self.fail(f"spaces are nested more than {MAX_DEPTH} deep")
        if not isinstance(data, dict):
            self.fail(f"expected an object that describes a space, got {reprlib.repr(data)}")
        self._data: dict[str, Any] = data
        self._read: set[str] = set()

    @classmethod
    def root(cls, data: object) -> Node:
        """Return the node of the outermost space."""
        return cls(data, "space", 1, [MAX_ELEMENTS, MAX_SPACES])

    def fail(self, problem: str, cause: Exception | None = None) -> NoReturn:
        """Raise an error with the place; an error of a deeper place is raised unchanged."""
        if isinstance(cause, _Misread):
            raise cause
        raise _Misread(f"Cannot read {self.path}: {problem}") from cause

    def get(self, name: str) -> Any:
        """Return a field unchanged."""
        if name not in self._data:
            self.fail(f"the field {name!r} is missing")
        self._read.add(name)
        return self._data[name]

    def kind(self, known: Iterable[str]) -> str:
        """Return the name of the space's class, one of the known ones."""
        kind = self.get("type")
        if not isinstance(kind, str) or kind not in known:
            self._wrong("type", f"one of {', '.join(sorted(known))}")
        return kind

    def check_all_read(self) -> None:
        """Raise if there are fields that were not read."""
        unknown = self._data.keys() - self._read
        if unknown:
            self.fail(f"there are unknown fields: {reprlib.repr(sorted(map(str, unknown)))}")

    def integer(self, name: str) -> int:
        """Return an integer field."""
        value = self.get(name)
        if not is_integer(value):
            self._wrong(name, "an integer")
        return int(value)

    def text(self, name: str) -> str:
        """Return a field that is a string."""
        value = self.get(name)
        if not isinstance(value, str):
            self._wrong(name, "a string")
        return value

    def flag(self, name: str) -> bool:
        """Return a field that is true or false."""
        value = self.get(name)
        if not isinstance(value, bool):
            self._wrong(name, "true or false")
        return value

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return a field that names a dtype."""
        value = self.get(name)
        if not isinstance(value, str) or value not in DTYPES:
            self._wrong(name, f"one of {', '.join(DTYPES)}")
        return np.dtype(value)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a field that is a shape, and count its elements against the limit."""
        value = self.get(name)
        if not isinstance(value, list) or not all(is_integer(i) and i >= 0 for i in value):
            self._wrong(name, "a list of integers that are not negative")
        if len(value) > _MAX_AXES:
            self._wrong(name, f"at most {_MAX_AXES} axes")
        # Axes of length 0 count as 1, because NumPy limits the other axes all the same.
        self.spend(math.prod(max(length, 1) for length in value))
        return tuple(value)

    def spend(self, count: int) -> None:
        """Count elements against the limit."""
        self._budget[0] -= count * self._copies
        if self._budget[0] < 0:
            self.fail(f"the arrays have more than {MAX_ELEMENTS} entries together")

    def keys(self, name: str) -> list[Any]:
        """Return a field that is a list of different strings and integers."""
        value = self.get(name)
        if not isinstance(value, list) or not all(
            isinstance(k, str) or is_integer(k) for k in value
        ):
            self._wrong(name, "a list of strings and integers")
        if len(set(value)) != len(value):
            self._wrong(name, "no key twice")
        return value

    def child(self, name: str, *, copies: int = 1) -> Node:
        """Return a field that describes a space, which this one builds ``copies`` times."""
        path, copies = f"{self.path}.{name}", self._copies * copies
        return Node(self.get(name), path, self._depth + 1, self._budget, copies)

    def children(self, name: str) -> list[Node]:
        """Return a field that is a list of descriptions of spaces."""
        value = self.get(name)
        if not isinstance(value, list):
            self._wrong(name, "a list of spaces")
        return [
            Node(part, f"{self.path}.{name}[{i}]", self._depth + 1, self._budget, self._copies)
            for i, part in enumerate(value)
        ]

    def numbers(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], infinity: str | None = None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return a field of numbers as an array, and which entries are the given infinity.

        The field holds one number for all entries, or a list of them row by row.
        """
        value = self.get(name)
        entries = value if isinstance(value, list) else [value]
        numbers = [self._number(name, entry, dtype, infinity) for entry in entries]
        array = np.array(numbers, dtype=dtype)
        infinite = np.array([entry == infinity for entry in entries], dtype=bool)
        if not isinstance(value, list):
            return np.full(shape, array[0]), np.full(shape, infinite[0])
        if len(entries) != math.prod(shape):
            self._wrong(name, f"one number, or a list of {math.prod(shape)} of them")
        return array.reshape(shape), infinite.reshape(shape)

    def _number(
        self, name: str, entry: object, dtype: np.dtype[Any], infinity: str | None
    ) -> float:
        smallest, largest = dtype_limits(dtype)
        if dtype.kind == "f":
            if infinity is not None and isinstance(entry, str) and entry in ("-inf", "inf"):
                return float(entry)
            valid = is_number(entry) and smallest <= entry <= largest
        else:
            # Integers have no infinity; their extremes represent it.
            if dtype.kind == "i" and isinstance(entry, str) and entry == infinity:
                return smallest if infinity == "-inf" else largest
            valid = is_integer(entry) and smallest <= entry <= largest
        if not valid:
            self.fail(f"{name!r} has {reprlib.repr(entry)}, which is no value of dtype {dtype}")
        return cast("float", entry)

    def _wrong(self, name: str, wanted: str) -> NoReturn:
        self.fail(f"{name!r} should be {wanted}, got {reprlib.repr(self._data[name])}")


class _Misread(SpaceValueError):
    """An error whose message already contains the place."""
