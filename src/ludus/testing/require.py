"""Assertions of the conformance suites."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.checking.rule import CheckFailed

__all__ = ["require", "require_member", "require_same"]


def require(condition: object, message: str) -> None:
    """Raise :class:`CheckFailed` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise CheckFailed(message)


def require_member(value: Any, space: Any, where: str) -> None:
    """Raise :class:`CheckFailed` unless ``value`` is in ``space``."""
    if value not in space:
        raise CheckFailed(f"{where}: {value!r} is outside {space}")


def require_same(left: Any, right: Any, where: str = "value") -> None:
    """Raise :class:`CheckFailed` unless both values are identical.

    Containers must have equal types, keys and lengths, arrays and scalars equal dtypes, shapes and
    values; NaN equals NaN. The message has the path of the first difference.
    """
    difference = _difference(left, right, where)
    if difference is not None:
        raise CheckFailed(difference)


def _difference(left: Any, right: Any, where: str) -> str | None:
    if isinstance(left, dict):
        if not isinstance(right, dict):
            return f"{where}: a dict and a {type(right).__name__}"
        if left.keys() != right.keys():
            return f"{where}: keys {[*left]} and {[*right]}"
        parts = ((f"{where}[{key!r}]", left[key], right[key]) for key in left)
    elif isinstance(left, tuple | list):
        if not isinstance(right, tuple | list):
            return f"{where}: {left!r} and {right!r}"
        if len(left) != len(right):
            return f"{where}: lengths {len(left)} and {len(right)}"
        pairs = zip(left, right, strict=True)
        parts = ((f"{where}[{i}]", a, b) for i, (a, b) in enumerate(pairs))
    else:
        return _leaf_difference(left, right, where)
    differences = (_difference(a, b, place) for place, a, b in parts)
    return next((found for found in differences if found is not None), None)


def _leaf_difference(left: Any, right: Any, where: str) -> str | None:
    one, other = np.asarray(left), np.asarray(right)
    if one.dtype != other.dtype:
        # Strings of different length have different dtypes, so the values are shown, too.
        return f"{where}: {left!r} ({one.dtype}) and {right!r} ({other.dtype})"
    if one.shape != other.shape:
        return f"{where}: shape {one.shape} and {other.shape}"
    if one.dtype == object and one.ndim:
        return _difference(one.ravel().tolist(), other.ravel().tolist(), where)
    if one.dtype == object:
        same = bool(left == right)
    else:
        same = np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    return None if same else f"{where}: {left!r} and {right!r}"
