"""Episodes in an HDF5 file, as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ludus.errors import RecordDamaged, RecordError
from ludus.interop.minari.spaces import SpaceLeaf, follow, leaves_of, load_h5py
from ludus.interop.recordings import Rows, Shape, row_texts
from ludus.record.format.values import Coded, values_of
from ludus.record.replay.episode_table import column
from ludus.spaces import Space, batch_space, from_dict

__all__ = ["EpisodeFile", "LeafColumns"]

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


_HELD_BYTES = 2**26
_CHUNK_BYTES = 2**16


@dataclass(slots=True)
class _Growing:
    """An unfinished episode."""

    number: int
    seed: int | None
    steps: int = 0
    pieces: list[Mapping[str, NDArray[Any]]] = field(default_factory=list)
    group: Any = None
    """HDF5 group of the pieces that are no longer in memory."""


class EpisodeFile:
    """Context manager that writes one group per episode, in the order in which they end.

    Args:
        path: File to create.
        unfinished: Whether unfinished episodes are written too.
    """

    def __init__(self, path: Path, *, unfinished: bool) -> None:
        self._h5py = load_h5py()
        self._file = self._h5py.File(path, "x")
        self._unfinished = unfinished
        self._growing: dict[int, _Growing] = {}
        self._held = 0
        self.episodes = 0
        """Number of written episodes."""
        self.steps = 0
        """Number of written steps."""
        self.left_out = 0
        """Number of unfinished episodes that were not written."""
        self.still_growing = 0
        """Number of these that the end of the recording cut off."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def add(
        self, env_index: int, number: int, seed: int | None, piece: Mapping[str, NDArray[Any]]
    ) -> None:
        """Add rows of an episode; a new number ends the environment's previous episode.

        Args:
            env_index: Index of the environment.
            number: Number of its episode.
            seed: Seed of the episode.
            piece: Arrays by dataset name; they are kept, not copied.
        """
        growing = self._growing.get(env_index)
        if growing is None or growing.number != number:
            self.cut(env_index)
            growing = self._growing[env_index] = _Growing(number, seed)
        growing.pieces.append(piece)
        growing.steps += len(piece["rewards"])
        self._held += sum(array.nbytes for array in piece.values())
        if self._held > _HELD_BYTES:
            for index, each in self._growing.items():
                self._spill(f"growing_{index}", each)
            self._held = 0

    def finish(self, env_index: int) -> None:
        """Write the environment's current episode."""
        growing = self._growing.pop(env_index)
        name = f"episode_{self.episodes}"
        if growing.group is None:
            group = self._file.create_group(name)
            for key, array in _joined(growing.pieces).items():
                self._create(group, key, array)
            self._held -= sum(a.nbytes for piece in growing.pieces for a in piece.values())
        else:
            self._spill(f"growing_{env_index}", growing)
            self._file.move(f"growing_{env_index}", name)
            group = self._file[name]
        group.create_group("infos")  # Minari cannot show the episode without it.
        group.attrs["id"] = self.episodes
        group.attrs["total_steps"] = growing.steps
        if growing.seed is not None:
            small = growing.seed < 2**63
            group.attrs["seed"] = growing.seed if small else str(growing.seed)
        self.episodes += 1
        self.steps += growing.steps

    def cut(self, env_index: int) -> None:
        """End the environment's current episode, if there is one, as unfinished."""
        if env_index not in self._growing:
            return
        if self._unfinished:
            self.finish(env_index)
            return
        growing = self._growing.pop(env_index)
        self._held -= sum(a.nbytes for piece in growing.pieces for a in piece.values())
        if growing.group is not None:
            del self._file[f"growing_{env_index}"]
        self.left_out += 1

    def close(self) -> None:
        """End all unfinished episodes and close the file."""
        before = self.left_out
        for env_index in sorted(self._growing):
            self.cut(env_index)
        self.still_growing = self.left_out - before
        self._file.close()

    def _spill(self, name: str, growing: _Growing) -> None:
        if not growing.pieces:
            return
        if growing.group is None:
            growing.group = self._file.create_group(name)
        for key, array in _joined(growing.pieces).items():
            if key not in growing.group:
                self._create(growing.group, key, array, grows=True)
                continue
            dataset = growing.group[key]
            if np.result_type(dataset.dtype, array.dtype) != dataset.dtype:
                raise RecordError(
                    f"The dtype of {key} changes from {dataset.dtype} to {array.dtype} within an "
                    "episode too long to be held in memory; Minari cannot store that."
                )
            dataset.resize(len(dataset) + len(array), axis=0)
            dataset[-len(array) :] = array
        growing.pieces.clear()

    def _create(self, group: Any, key: str, array: NDArray[Any], *, grows: bool = False) -> None:
        options: dict[str, Any] = {}
        if array.dtype.kind == "O":
            options["dtype"] = self._h5py.string_dtype(encoding="utf-8")
        if grows:
            width = max(1, array[:1].nbytes)
            rows = max(1, _CHUNK_BYTES // width)
            chunk = (rows, *(max(1, length) for length in array.shape[1:]))
            options |= {"maxshape": (None, *array.shape[1:]), "chunks": chunk}
        try:
            group.create_dataset(key, data=array, **options)
        except ValueError as problem:
            raise RecordError(f"{key} cannot be stored in HDF5: {problem}.") from None


def _joined(pieces: list[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    if len(pieces) == 1:
        return dict(pieces[0])
    return {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
