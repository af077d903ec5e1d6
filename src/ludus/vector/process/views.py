"""Nested views of shared arrays: tuples and dicts of arrays with one row per environment."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["copy_rows", "holds_exactly", "keeps_values", "select_row", "select_rows", "store"]


def select_row(views: Any, index: int) -> Any:
    """Return a copy of one environment's values."""
    if isinstance(views, dict):
        return {key: select_row(view, index) for key, view in views.items()}
    if isinstance(views, tuple):
        return tuple(select_row(view, index) for view in views)
    value = views[index]
    return value.copy() if isinstance(value, np.ndarray) else value


def select_rows(views: Any, rows: slice) -> Any:
    """Return views of some rows."""
    if isinstance(views, dict):
        return {key: select_rows(view, rows) for key, view in views.items()}
    if isinstance(views, tuple):
        return tuple(select_rows(view, rows) for view in views)
    return None if views is None else views[rows]


def copy_rows(source: Any, target: Any, rows: slice) -> None:
    """Copy some rows from one set of views to another of the same structure."""
    if isinstance(source, dict | tuple):
        for key in source if isinstance(source, dict) else range(len(source)):
            copy_rows(source[key], target[key], rows)
    else:
        target[rows] = source[rows]


def keeps_values(views: Any, batch: Any) -> bool:
    """Return whether storing a batch of actions keeps their values.

    False if numbers would be rounded, such as float64 in a view of float32. Batches of another
    structure are reported by :func:`store`.
    """
    if isinstance(views, dict):
        return not isinstance(batch, dict) or all(
            keeps_values(view, batch[key]) for key, view in views.items() if key in batch
        )
    if isinstance(views, tuple):
        return all(map(keeps_values, views, batch))
    # Converts lists and tensors; texts and the like cannot be cast to numbers.
    given = np.asarray(batch).dtype
    whole = given.kind in "bui" and views.dtype.kind in "bui"
    return given == views.dtype or whole or np.can_cast(given, views.dtype)


def holds_exactly(views: Any, value: Any) -> bool:
    """Return whether a row of the views returns the same value with the same types."""
    if isinstance(views, dict):
        return type(value) is dict and all(
            key in value and holds_exactly(view, value[key]) for key, view in views.items()
        )
    if isinstance(views, tuple):
        return type(value) is tuple and all(map(holds_exactly, views, value))
    if views.ndim == 1:
        return type(value) is views.dtype.type
    return type(value) is np.ndarray and value.dtype == views.dtype


def store(views: Any, batch: Any) -> None:
    """Copy a batch of actions into views of the same structure.

    Raises:
        KeyError, TypeError, ValueError: The batch has another structure or shape.
    """
    if isinstance(views, dict):
        for key, view in views.items():
            store(view, batch[key])
    elif isinstance(views, tuple):
        for view, part in zip(views, batch, strict=True):
            store(view, part)
    else:
        given = np.asarray(batch)
        if given.shape != views.shape:
            _explain_shape(given, views.shape)
        views[...] = given


def _explain_shape(given: np.ndarray[Any, Any], expected: tuple[int, ...]) -> None:
    count = expected[0]
    if given.ndim == 0:
        raise TypeError(
            f"Expected an array of {count} actions, one per environment, got {given[()]!r}."
        )
    if len(given) != count:
        raise ValueError(
            f"Expected {count} actions, one per environment, got {len(given)} of shape "
            f"{given.shape[1:]}."
        )
    raise ValueError(f"Expected actions of shape {expected}, got shape {given.shape}.")
