"""Recorded actions or observations as one array per leaf space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
_Convert = Callable[[Any, SpaceLeaf], Any]


class LeafColumns:
    """The actions or observations of a recording, as arrays ``(rows, environments, ...)``.

    Args:
        name: ``action`` or ``observation``.
        described: The space of one environment, from the manifest.
        shape: The columns, from the manifest.

    Raises:
        RecordError: Minari does not support the space, or the manifest lacks it.
    """

    def __init__(self, name: str, described: Any, shape: Shape) -> None:
        if not isinstance(described, dict):
            raise RecordError(
                f"The {name} space cannot be written as JSON (it is a custom class, or very "
                "large), so Minari cannot store it. Export to Parquet instead."
            )
        try:
            self.space: Space[Any] = from_dict(described)
        except (ValueError, TypeError) as problem:
            raise _unlike(name, f"is not a space: {problem}") from None
        self.leaves = leaves_of(self.space)
        if sum(math.prod(leaf.shape) for leaf in self.leaves) * shape.envs > _MOST_NUMBERS:
            raise _unlike(name, f"is too large for {shape.envs} environments")
        self._name = name
        self._envs = shape.envs
        self._is_batch = shape.num_envs is not None
        whole = batch_space(self.space, shape.envs) if self._is_batch else self.space
        self._values = values_of(name, whole)

    def arrays(self, rows: Rows) -> list[NDArray[Any]]:
        """Return an array per leaf; strings are in object arrays.

        Raises:
            RecordDamaged: Columns are missing or do not match the space.
        """
        how = self._values
        if isinstance(how, Coded):
            texts = row_texts(rows, self._name)
            return self._stacked([self.parts(how.decoded(text)) for text in texts])
        found = []
        for leaf in how.leaves:
            given = rows.columns.get(leaf.name)
            # Float actions are recorded in the dtype in which they were passed.
            as_given = given is not None and self._name == "action" and leaf.dtype.kind not in "iu"
            dtype = given.dtype if given is not None and as_given else leaf.dtype
            values = column(rows.columns, leaf.name, dtype, leaf.shape)
            found.append(self._with_envs(values))
        return found

    def parts(self, value: Any) -> list[Any]:
        """Return the leaves of one recorded value of all environments.

        Raises:
            RecordDamaged: The value does not match the space.
        """
        return self._leaves(value, lambda part, _: _texts(part, self._is_batch), self._array)

    def single(self, value: Any) -> list[Any]:
        """Return the leaves of one environment's value, like :meth:`parts`."""
        return self._leaves(
            value,
            lambda part, _: part,
            lambda part, leaf: np.asarray(part, leaf.space.dtype).reshape(leaf.shape),
        )

    def _leaves(self, value: Any, text: _Convert, array: _Convert) -> list[Any]:
        try:
            found = [(follow(value, leaf.path), leaf) for leaf in self.leaves]
            return [(text if leaf.is_text else array)(part, leaf) for part, leaf in found]
        except (KeyError, IndexError, TypeError, ValueError) as problem:
            raise self._odd(problem) from None

    def decoded(self, text: bytes) -> Any:
        """Decode a value of a bytes column such as ``reset_observation``."""
        return Coded(self._name, self._values.space).decoded(text)

    def _array(self, part: Any, leaf: SpaceLeaf) -> NDArray[Any]:
        array = np.asarray(part)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"an array of dtype {array.dtype}")
        # Python numbers have no dtype.
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
        raise TypeError("a value that is not a string")
    found = np.empty(len(values), object)
    found[:] = values
    return found
