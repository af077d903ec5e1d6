"""Reader of an untrusted ``main_data.hdf5``.

No other file is opened, no filter plugin is loaded, nothing is unpickled, and sizes are checked
before reading.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ludus.errors import RecordDamaged, RecordError
from ludus.interop.minari.spaces import SpaceLeaf, load_h5py
from ludus.record.format.columns import DTYPES

__all__ = ["DatasetFile", "EpisodeReader", "opened"]

_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32", 32000: "lzf"}
_SEED = re.compile("-?[0-9]{1,300}")
_READ_BYTES = 2**23
_MOST_HELD = 2**28
_LIBRARY_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError)


@contextlib.contextmanager
def opened(file: BinaryIO, size: int, most_bytes: int) -> Iterator[DatasetFile]:
    """Open a dataset as a context manager.

    Args:
        file: The file, opened for reading.
        size: Size of the file in bytes.
        most_bytes: Limit of the bytes read in all.

    Raises:
        RecordDamaged: The file is not HDF5.
    """
    h5py = load_h5py()
    with _reported():
        root = h5py.File(file, "r")
    with root:
        yield DatasetFile(h5py, root, size, most_bytes)


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Report exceptions of h5py as damage of the file."""
    try:
        yield
    except _LIBRARY_ERRORS as problem:
        raise _damaged(f"it cannot be read: {type(problem).__name__}: {problem!s:.300}") from None


class DatasetFile:
    """The episodes in an open file."""

    def __init__(self, h5py: Any, root: Any, size: int, most_bytes: int) -> None:
        self._h5py = h5py
        self._root = root
        self._size = size
        self._left = self._most_bytes = most_bytes

    @_reported()
    def seed(self, number: int) -> int | None:
        """Return the seed of an episode, or ``None``.

        Raises:
            RecordDamaged: The episode is missing, or its seed is not an integer.
        """
        attributes = self._child(self._root, f"episode_{number}", self._h5py.Group).attrs
        if "seed" not in attributes:
            return None
        found = attributes.get_id("seed")
        is_text = self._h5py.check_string_dtype(found.dtype) is not None
        if found.shape != () or not (is_text or found.dtype.kind in "iu"):
            raise _damaged(f"the seed of episode {number} is not an integer")
        # Seeds of more than 64 bits are written as text.
        digits = str(attributes["seed"])
        if not _SEED.fullmatch(digits):
            raise _damaged(f"the seed of episode {number} is {digits!r:.50}")
        return None if digits.startswith("-") else int(digits)

    @_reported()
    def episode(
        self, number: int, actions: Sequence[SpaceLeaf], observations: Sequence[SpaceLeaf]
    ) -> EpisodeReader:
        """Return a reader of one episode.

        Raises:
            RecordDamaged: The episode is missing, does not match the spaces, or is too large.
        """
        group = self._child(self._root, f"episode_{number}", self._h5py.Group)
        rewards = self._child(group, "rewards", self._h5py.Dataset)
        if len(rewards.shape) != 1 or not 0 < rewards.shape[0] < 2**40:
            raise _damaged(f"episode {number} has rewards of shape {rewards.shape}")
        steps = int(rewards.shape[0])
        columns = [self._column(rewards, (steps,), np.dtype(np.float64))]
        for name in ("terminations", "truncations"):
            dataset = self._child(group, name, self._h5py.Dataset)
            columns.append(self._column(dataset, (steps,), np.dtype(np.bool_)))
        found: list[list[_Column]] = []
        for name, leaves, rows in (
            ("actions", actions, steps),
            ("observations", observations, steps + 1),
        ):
            found.append([self._leaf(group, name, leaf, rows) for leaf in leaves])
        held = sum(each.held for each in (*columns, *found[0], *found[1]))
        if held > _MOST_HELD:
            raise _damaged(f"its chunks are too large: they need {held} bytes of memory")
        self._spend(sum(each.size for each in (*columns, *found[0], *found[1])))
        return EpisodeReader(steps, columns, *found)

    def _leaf(self, group: Any, what: str, leaf: SpaceLeaf, rows: int) -> _Column:
        *inner, name = [what, *(leaf.name.split("/") if leaf.name else [])]
        for each in inner:
            group = self._child(group, each, self._h5py.Group)
        dataset = self._child(group, name, self._h5py.Dataset)
        if leaf.is_text:
            return self._text_column(dataset, rows)
        dtype = None if what == "actions" else np.dtype(leaf.space.dtype)
        return self._column(dataset, (rows, *leaf.shape), dtype)

    def _child(self, group: Any, name: str, kind: type) -> Any:
        """Return a member of a group that is stored in this file."""
        link = group.get(name, getlink=True)
        if link is None:
            raise _damaged(f"there is no {name!r:.100} in {group.name!r:.100}")
        if not isinstance(link, self._h5py.HardLink):
            raise _damaged(f"{name!r:.100} in {group.name!r:.100} is a soft or external link")
        found = group[name]
        if not isinstance(found, kind):
            raise _damaged(f"{found.name!r:.100} is not a {kind.__name__}")
        return found

    def _column(self, dataset: Any, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> _Column:
        """Check a numeric dataset.

        Args:
            dataset: The dataset.
            shape: The required shape.
            dtype: The dtype to which it must be safely castable; ``None`` for any.
        """
        self._check_storage(dataset)
        found = dataset.dtype.newbyteorder("<")
        if found.str not in DTYPES:
            raise _damaged(f"{dataset.name!r:.100} has the dtype {dataset.dtype!s:.50}")
        if dtype is not None and not np.can_cast(found, dtype, "safe"):
            raise _damaged(f"{dataset.name!r:.100} has the dtype {found}; expected {dtype}")
        if dataset.shape != shape:
            raise _damaged(f"{dataset.name!r:.100} has the shape {dataset.shape}, not {shape}")
        width = found.itemsize * math.prod(shape[1:])
        rows = max(1, min(shape[0], _READ_BYTES // max(1, width)))
        if dataset.chunks is not None:
            # Whole chunks, because a chunk is decompressed again for every partial read.
            rows = max(rows, dataset.chunks[0])
            held = max(rows * width, found.itemsize * math.prod(dataset.chunks))
        else:
            held = rows * width
        return _Column(dataset, rows, held, width * shape[0])

    def _text_column(self, dataset: Any, rows: int) -> _Column:
        self._check_storage(dataset)
        info = self._h5py.check_string_dtype(dataset.dtype)
        if info is None or dataset.shape != (rows,):
            raise _damaged(f"{dataset.name!r:.100} is not a column of {rows} strings")
        # Strings may share their bytes, so one string can be as long as the file.
        longest = self._size if info.length is None else info.length
        count = max(1, min(rows, _READ_BYTES // max(1, longest)))
        return _Column(dataset, count, _READ_BYTES, rows, self._spend)

    def _check_storage(self, dataset: Any) -> None:
        name = f"{dataset.name!r:.100}"
        if dataset.is_virtual or dataset.external:
            raise _damaged(f"{name} refers to data in another file")
        settings = dataset.id.get_create_plist()
        for index in range(settings.get_nfilters()):
            code = settings.get_filter(index)[0]
            if code not in _FILTERS:
                raise _damaged(f"{name} is compressed with the unknown filter {code}")
        if dataset.shape is None or math.prod(dataset.shape) > 2**50:
            raise _damaged(f"{name} is empty or too large")

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise RecordError(
                f"main_data.hdf5 contains more than {self._most_bytes} bytes of arrays; if you "
                "trust it, raise most_bytes."
            )


@dataclass(frozen=True, slots=True)
class _Column:
    """A dataset that is read in blocks of rows."""

    dataset: Any
    rows: int
    held: int
    """Bytes of memory needed at a time."""
    size: int
    """Bytes in all; strings are counted when they are read."""
    spend: Callable[[int], None] | None = None

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, self.dataset.shape[0], self.rows):
            with _reported():
                part = self.dataset[start : start + self.rows]
                if self.spend is not None:
                    self.spend(sum(map(len, part)))
                    part = [bytes(text).decode() for text in part]
                else:
                    part = part.astype(part.dtype.newbyteorder("="), copy=False)
            yield from part


class EpisodeReader:
    """One episode: its number of steps and its columns, each iterable once."""

    def __init__(
        self,
        steps: int,
        flags: Sequence[_Column],
        actions: Sequence[_Column],
        observations: Sequence[_Column],
    ) -> None:
        self.steps = steps
        self.rewards, self.terminations, self.truncations = map(iter, flags)
        self._actions = actions
        self._observations = observations

    def actions(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the leaves of each action."""
        return zip(*self._actions, strict=True)

    def observations(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the leaves of each observation, one more than there are actions."""
        return zip(*self._observations, strict=True)


def _damaged(reason: str) -> RecordDamaged:
    return RecordDamaged(f"main_data.hdf5: {reason}.", file="main_data.hdf5")
