"""Writer of ``main_data.hdf5``, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ludus.errors import RecordError
from ludus.interop.minari.spaces import load_h5py

__all__ = ["EpisodeFile"]

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
