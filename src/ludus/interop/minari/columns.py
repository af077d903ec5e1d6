"""Rows of a recording as arrays per leaf, each of shape ``(rows, environments, ...)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import RecordDamaged, RecordError
from ludus.interop.minari.spaces import SpaceLeaf, follow, leaves_of
from ludus.interop.recordings import Rows, Shape, row_texts
from ludus.record.format.values import Coded, values_of
from ludus.record.replay.episode_table import column
from ludus.spaces import Space, batch_space, from_dict

__all__ = ["LeafColumns"]

_MOST_NUMBERS = 2**26  # of one row


class LeafColumns:
    """The actions or the observations of a recording.

    Args:
        name: ``action`` or ``observation``.
        described: The space of one environment, as the manifest describes it.
        shape: What else the manifest says.

    Raises:
        RecordError: Minari has no form for the space, or the manifest does not describe it.
    """

    def __init__(self, name: str, described: Any, shape: Shape) -> None:
        if not isinstance(described, dict):
            raise RecordError(
                f"The {name} space has no form in JSON (it is of a class of its own, or very "
                "large), so Minari cannot store it. Export to Parquet instead."
            )
        try:
            self.space: Space[Any] = from_dict(described)
        except (ValueError, TypeError) as problem:
            raise _unlike(name, f"is none: {problem}") from None
        self.leaves = leaves_of(self.space)
        if sum(math.prod(leaf.shape) for leaf in self.leaves) * shape.envs > _MOST_NUMBERS:
            raise _unlike(name, f"is too large for {shape.envs} environments")
        self._name = name
        self._envs = shape.envs
        self._is_batch = shape.num_envs is not None
        whole = batch_space(self.space, shape.envs) if self._is_batch else self.space
        self._values = values_of(name, whole)

    def arrays(self, rows: Rows) -> list[NDArray[Any]]:
        """Return an array per leaf; strings are arrays of objects.

        Raises:
            RecordDamaged: The columns are not there, or not of the space.
        """
        how = self._values
        if isinstance(how, Coded):
            texts = row_texts(rows, self._name)
            return self._stacked([self.parts(how.decoded(text)) for text in texts])
        found = []
        for leaf in how.leaves:
            given = rows.columns.get(leaf.name)
            # Floats of actions are kept in the dtype they were given in.
            as_given = given is not None and self._name == "action" and leaf.dtype.kind not in "iu"
            dtype = given.dtype if given is not None and as_given else leaf.dtype
            values = column(rows.columns, leaf.name, dtype, leaf.shape)
            found.append(self._with_envs(values))
        return found

    def parts(self, value: Any) -> list[Any]:
        """Return the leaves of one recorded value, each for all environments.

        Raises:
            RecordDamaged: It does not have the structure of the space.
        """
        try:
            found = [follow(value, leaf.path) for leaf in self.leaves]
            return [
                _texts(part, self._is_batch) if leaf.is_text else self._array(part, leaf)
                for leaf, part in zip(self.leaves, found, strict=True)
            ]
        except (KeyError, IndexError, TypeError, ValueError) as problem:
            raise self._odd(problem) from None

    def single(self, value: Any) -> list[Any]:
        """Return the leaves of one environment's value; as :meth:`parts`."""
        try:
            found = [follow(value, leaf.path) for leaf in self.leaves]
            return [
                part if leaf.is_text else np.asarray(part, leaf.space.dtype).reshape(leaf.shape)
                for leaf, part in zip(self.leaves, found, strict=True)
            ]
        except (KeyError, IndexError, TypeError, ValueError) as problem:
            raise self._odd(problem) from None

    def decoded(self, text: bytes) -> Any:
        """Return a value from the bytes of a column such as ``reset_observation``."""
        return Coded(self._name, self._values.space).decoded(text)

    def _array(self, part: Any, leaf: SpaceLeaf) -> NDArray[Any]:
        array = np.asarray(part)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"an array of dtype {array.dtype}")
        # Bare Python numbers have no dtype of their own.
        if not isinstance(part, np.ndarray | np.generic):
            array = array.astype(leaf.space.dtype)
        return array.reshape((self._envs, *leaf.shape))

    def _stacked(self, rows: Sequence[Sequence[Any]]) -> list[NDArray[Any]]:
        return [np.stack(column) for column in zip(*rows, strict=True)]

    def _with_envs(self, array: NDArray[Any]) -> NDArray[Any]:
        return array if self._is_batch else array[:, np.newaxis]

    def _odd(self, problem: Exception) -> RecordDamaged:
        return RecordDamaged(
            f"A recorded {self._name} does not have the structure of {self.space!r:.200}: "
            f"{problem!r:.200}.",
            file="blocks.bin",
        )


def _unlike(name: str, reason: str) -> RecordDamaged:
    return RecordDamaged(f"The manifest's {name}_space {reason}.", file="manifest.json")


def _texts(part: Any, is_batch: bool) -> NDArray[Any]:
    values = list(part) if is_batch else [part]
    if not all(isinstance(text, str) for text in values):
        raise TypeError("something else than text")
    found = np.empty(len(values), object)
    found[:] = values
    return found
