"""Comparison of observations, actions and infos: equal values, shared objects."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["data_equivalence", "data_shares_objects", "first_difference"]

_TOLERANCE = 1e-5


def data_equivalence(data_1: Any, data_2: Any, exact: bool = False) -> bool:
    """Return whether two structures have equal types, keys, shapes, dtypes and values.

    Args:
        data_1: Nested dicts, tuples, lists, arrays and scalars.
        data_2: The structure to compare with.
        exact: Compare arrays exactly; otherwise within 1e-5, relative and absolute.
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, dict):
        return data_1.keys() == data_2.keys() and all(
            data_equivalence(value, data_2[key], exact) for key, value in data_1.items()
        )
    if isinstance(data_1, tuple | list):
        return len(data_1) == len(data_2) and all(
            data_equivalence(a, b, exact) for a, b in zip(data_1, data_2, strict=True)
        )
    if isinstance(data_1, np.ndarray):
        return _arrays_equivalent(data_1, data_2, exact)
    return bool(data_1 == data_2)


def _arrays_equivalent(
    array_1: np.ndarray[Any, Any], array_2: np.ndarray[Any, Any], exact: bool
) -> bool:
    if array_1.shape != array_2.shape or array_1.dtype != array_2.dtype:
        return False
    if array_1.dtype == object:
        return data_equivalence(array_1.tolist(), array_2.tolist(), exact)
    if exact or array_1.dtype.kind not in "fciub":
        return bool(np.all(array_1 == array_2))
    return bool(np.allclose(array_1, array_2, rtol=_TOLERANCE, atol=_TOLERANCE))


def data_shares_objects(data_1: Any, data_2: Any) -> bool:
    """Return whether two structures share a mutable object at the same place.

    Arrays share if their memory overlaps, dicts if they are the same object or share a value.
    Scalars, lists and objects of unknown type are ignored.
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, tuple):
        return any(map(data_shares_objects, data_1, data_2))
    if isinstance(data_1, dict):
        return data_1 is data_2 or any(
            data_shares_objects(data_1[key], data_2[key]) for key in data_1.keys() & data_2.keys()
        )
    if isinstance(data_1, np.ndarray):
        if data_1.dtype == object:
            return data_1 is data_2 or any(map(data_shares_objects, data_1.flat, data_2.flat))
        # Overlap instead of identity, to detect new views of the same buffer.
        return np.shares_memory(data_1, data_2)
    return False


def first_difference(data_1: Any, data_2: Any, where: str = "") -> str | None:
    """Return the path of the first difference between two structures, ``None`` if there is none.

    Unlike :func:`data_equivalence`, NaN equals NaN, an int equals a NumPy integer, and objects
    without ``__eq__`` are not compared. The path of the whole structure is ``""``.

    >>> first_difference({"a": (1, 2)}, {"a": (1, 3)})
    "['a'][1]"
    """
    if isinstance(data_1, dict) and isinstance(data_2, dict):
        if data_1.keys() != data_2.keys():
            return where
        pairs = ((f"[{key!r}]", data_1[key], data_2[key]) for key in data_1)
    elif isinstance(data_1, tuple | list) and isinstance(data_2, tuple | list):
        if len(data_1) != len(data_2):
            return where
        pairs = ((f"[{i}]", a, b) for i, (a, b) in enumerate(zip(data_1, data_2, strict=True)))
    else:
        return None if _leaves_equal(data_1, data_2) else where
    differences = (first_difference(a, b, where + step) for step, a, b in pairs)
    return next((path for path in differences if path is not None), None)


def _leaves_equal(leaf_1: Any, leaf_2: Any) -> bool:
    array_1, array_2 = np.asarray(leaf_1), np.asarray(leaf_2)
    if array_1.shape != array_2.shape or array_1.dtype.kind != array_2.dtype.kind:
        return False
    if array_1.dtype == object:
        kind: Any = type(leaf_1)
        return kind.__eq__ is object.__eq__ or data_equivalence(leaf_1, leaf_2)
    if array_1.dtype.kind not in "fc":
        return bool(np.array_equal(array_1, array_2))
    return bool(np.allclose(array_1, array_2, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True))
