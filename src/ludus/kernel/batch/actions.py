"""Converts batches of actions to the rows that a driver reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.finite import not_finite
from ludus.errors import InvalidAction
from ludus.kernel.storage import Storage
from ludus.spaces import Space, Tuple

__all__ = ["BatchActions"]


class BatchActions:
    """Converts batches of actions to rows: one number of each environment's action per row.

    Args:
        single: The action space of one environment.
        batch: The action space of the batch.
        storage: The storage that receives the rows.
    """

    def __init__(self, single: Space[Any], batch: Space[Any], storage: Storage) -> None:
        self._single, self._batch = single, batch
        self._is_tuple = isinstance(single, Tuple)
        self._store = storage.actions
        self._bounds = storage.bounds
        self._dtype = storage.actions.dtype
        self._row = storage.actions[0] if len(storage.actions) == 1 else None

    def take(self, actions: Any) -> None:
        """Store a batch for the next step.

        Raises:
            InvalidAction: The numbers are not ints, but the space has ints.
            ValueError: The number of actions is wrong.
        """
        row = self._row
        if (
            row is not None
            and type(actions) is np.ndarray
            and actions.dtype is self._dtype
            and actions.shape == row.shape
        ):
            row[...] = actions
            return
        given = np.asarray(actions)
        if given.ndim == 2 and not self._is_tuple:
            given = given.T
        self._store[...] = self._checked(given, self._store.shape, actions)

    def is_row(self, actions: Any) -> bool:
        """Return whether a batch has the memory layout that a step reads."""
        row = self._row
        return (
            row is not None
            and type(actions) is np.ndarray
            and actions.dtype == self._dtype
            and actions.shape == row.shape
            and actions.flags.c_contiguous
            and actions.flags.aligned
        )

    def rows(self, actions: Any) -> Any:
        """Return the rows for a rollout: a batch per step, time first."""
        given = np.asarray(actions)
        shape = (len(given), *self._store.shape)
        if given.ndim == 3 and not self._is_tuple:
            given = given.swapaxes(1, 2)
        return np.require(self._checked(given, shape, actions), self._dtype, ["C", "W", "A"])

    def _checked(self, given: Any, shape: tuple[int, ...], actions: Any) -> Any:
        """Return the actions in the given shape; the axis of a single number may be missing."""
        *steps, numbers, n = shape
        if numbers == 1 and given.shape == (*steps, n):
            given = given.reshape(shape)
        if given.shape != shape:
            raise ValueError(
                f"Expected {n} actions, one per environment, got an array of shape "
                f"{np.shape(actions)}. The action space is {self._batch}."
            )
        if self._dtype.kind == "i" and given.dtype.kind not in "iub":
            raise InvalidAction(
                f"Expected whole numbers, got {given.dtype}. The action space is {self._batch}."
            )
        return given

    def refusal(self, rows: Any) -> InvalidAction:
        """Return the error for the first action that is out of bounds or not finite.

        ``rows`` are those of a step or of a rollout.
        """
        rows = rows.reshape(-1, *self._store.shape)
        if self._dtype.kind == "f":
            step, _, index = (int(found[0]) for found in np.nonzero(~np.isfinite(rows)))
            where = f" in step {step}" if len(rows) > 1 else ""
            owner = f"The action of environment {index}{where}"
            return not_finite(rows[step, :, index], self._single, owner)
        wrong = (rows < self._bounds[:, :1]) | (rows > self._bounds[:, 1:])
        step, number, index = (int(found[0]) for found in np.nonzero(wrong))
        low, high = self._bounds[number].tolist()
        where = f" in step {step}" if len(rows) > 1 else ""
        return InvalidAction(
            f"The action of environment {index}{where} is {rows[step, number, index]}: expected "
            f"{low} to {high}. The action space is {self._single}."
        )
