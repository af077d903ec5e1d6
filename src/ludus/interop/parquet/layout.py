"""Columns of a Parquet file, and reader of an untrusted one."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode
from ludus.errors import RecordDamaged
from ludus.interop.recordings import Shape
from ludus.optional import require
from ludus.record.format.limits import MAX_BLOCK_BYTES
from ludus.record.format.values import Leaf

__all__ = [
    "HEAD",
    "MANIFEST",
    "RECORDING",
    "VERSION",
    "ColumnLayout",
    "Group",
    "TableFile",
    "damaged",
    "load_pyarrow",
]

MANIFEST, HEAD, RECORDING = b"ludus.manifest", b"ludus.head", b"ludus.recording"
"""Keys of the file's metadata: the manifest, the last hash of the chain, and other fields."""
VERSION = 1


def load_pyarrow() -> tuple[Any, Any]:
    """Import ``pyarrow`` and ``pyarrow.parquet``.

    Raises:
        DependencyNotInstalled: They are missing.
    """
    pyarrow = require("pyarrow", extra="parquet", purpose="A Parquet file")
    return pyarrow, require("pyarrow.parquet", extra="parquet", purpose="A Parquet file")


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The columns of one file."""

    shape: Shape
    observations: bool
    """Whether observations are in the file."""
    dtypes: Mapping[str, np.dtype[Any]] = field(default_factory=dict)
    """Dtypes of actions that differ from those of their space."""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Columns of actions, and of observations if included, as in the run's blocks."""
        actions = [
            Leaf(leaf.name, (), self.dtypes.get(leaf.name, leaf.dtype), leaf.shape)
            for leaf in self.shape.actions
        ]
        return (*actions, *(self.shape.observations if self.observations else ()))

    @property
    def checks(self) -> tuple[str, ...]:
        """Columns with one number per batch."""
        finals = ("final_check",) if self._same_step else ()
        return ("observation_check", *finals)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of bytes with one value per batch, except ``reset``."""
        names = [] if self.shape.actions else ["action"]
        if self.observations:
            names += [] if self.shape.observations else ["observation"]
            names += ["reset_observation", *(["final_observation"] if self._same_step else [])]
        return tuple(names)

    @property
    def row_bytes(self) -> int:
        """Bytes of the numbers in one row of the batch."""
        width = sum(leaf.dtype.itemsize * math.prod(leaf.shape) for leaf in self.leaves)
        return width + 64 * self.shape.envs

    def size_of(self, leaf: Leaf) -> int:
        """Return how many numbers a column has per environment."""
        return math.prod(leaf.shape[len(self.shape.batch) :])

    def is_scalar(self, leaf: Leaf) -> bool:
        """Return whether a column has a scalar per environment."""
        return len(leaf.shape) == len(self.shape.batch)

    def schema(self) -> Any:
        """Return the pyarrow schema, without columns of empty arrays."""
        pa, _ = load_pyarrow()
        fields = [("row", pa.int64()), ("env", pa.int32()), ("episode", pa.int64())]
        fields += [("step", pa.int64()), ("seed", pa.uint64())]
        for leaf in self.leaves:
            kind = pa.from_numpy_dtype(leaf.dtype)
            if self.is_scalar(leaf):
                fields.append((leaf.name, kind))
            elif size := self.size_of(leaf):
                fields.append((leaf.name, pa.list_(kind, size)))
        fields += [("reward", pa.float64()), ("terminated", pa.bool_()), ("truncated", pa.bool_())]
        fields += [(name, pa.uint64()) for name in self.checks]
        fields += [(name, pa.binary()) for name in (*self.texts, "reset")]
        return pa.schema(fields)

    @property
    def repetitive(self) -> list[str]:
        """Columns for dictionary encoding.

        Floats are excluded: the dictionary could merge values that are equal but not
        bit-identical.
        """
        scalars = [leaf for leaf in self.leaves if self.is_scalar(leaf)]
        whole = [leaf.name for leaf in scalars if leaf.dtype.kind in "iu"]
        return ["env", "episode", "seed", *self.checks, *whole]

    @property
    def _same_step(self) -> bool:
        return self.shape.mode is AutoresetMode.SAME_STEP


_MOST_STEPS = 2**24
_MOST_METADATA = 2**26
_MOST_ENTRIES = 2**22
_INDEX = ("row", "env")


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Report exceptions of pyarrow as damage of the file."""
    pa, _ = load_pyarrow()
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError) as problem:
        raise damaged(f"it cannot be read: {problem!s:.300}") from None


class TableFile:
    """An open Parquet file."""

    def __init__(self, file: BinaryIO) -> None:
        self._pa, self._parquet = load_pyarrow()
        self._file = file
        with _reported():
            self._first = self._opened()
            metadata = self._first.schema_arrow.metadata or {}
        self.metadata: dict[bytes, bytes] = metadata

    def _opened(self, **options: Any) -> Any:
        return self._parquet.ParquetFile(
            self._file,
            thrift_string_size_limit=_MOST_METADATA,
            thrift_container_size_limit=_MOST_ENTRIES,
            **options,
        )

    def groups(self, layout: ColumnLayout) -> Iterator[Group]:
        """Yield the row groups in order.

        Args:
            layout: The expected columns.

        Raises:
            RecordDamaged: The columns differ, or the rows are out of order or too large.
        """
        envs, found = layout.shape.envs, self._first.metadata
        expected = layout.schema()
        if not self._first.schema_arrow.remove_metadata().equals(expected):
            raise damaged("its columns do not match its recording")
        names = [name for name in expected.names if name not in ("episode", "step", "seed")]
        texts = [*layout.texts, "reset"]
        # Dictionary encoding keeps repeated texts once in memory until their total is checked.
        with _reported():
            file = self._opened(metadata=found, read_dictionary=texts)
        first = 0
        for index in range(found.num_row_groups):
            group = found.row_group(index)
            count, rest = divmod(group.num_rows, envs)
            if rest or not 0 < group.num_rows <= _MOST_STEPS:
                raise damaged(f"its group {index} has {group.num_rows} rows")
            packed = sum(group.column(i).total_uncompressed_size for i in range(group.num_columns))
            if max(packed, count * layout.row_bytes) > MAX_BLOCK_BYTES:
                raise damaged(f"its group {index} is too large")
            with _reported():
                table = file.read_row_group(index, columns=names, use_threads=False)
            yield Group(table, layout, first, count)
            first += count


class Group:
    """A group of rows of the file."""

    def __init__(self, table: Any, layout: ColumnLayout, first_row: int, count: int) -> None:
        self._table = table
        self._envs = envs = layout.shape.envs
        self.first_row = first_row
        self.count = count
        numbers = np.repeat(np.arange(first_row, first_row + count), envs)
        order = {"row": numbers, "env": np.tile(np.arange(envs), count)}
        for name in _INDEX:
            if not np.array_equal(self.numbers(name), order[name]):
                raise damaged(
                    f"its column {name} is not in the original order; rows are missing or were "
                    "sorted"
                )

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a column of numbers, flattened if it has lists.

        Raises:
            RecordDamaged: It has nulls.
        """
        with _reported():
            column = self._table.column(name).combine_chunks()
            if hasattr(column, "chunks"):
                column = column.chunk(0)
            if column.null_count:
                raise ValueError(f"the column {name} has nulls")
            flat = column.flatten() if hasattr(column, "flatten") else column
            found: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
        return found

    def common(self, name: str) -> NDArray[Any]:
        """Return a column that has the same number for all environments of a row.

        Raises:
            RecordDamaged: The numbers differ.
        """
        found = self.numbers(name).reshape(self.count, self._envs)
        if not (found == found[:, :1]).all():
            raise damaged(f"its column {name} differs between environments of one row")
        return found[:, 0]

    def texts(self, name: str) -> list[bytes]:
        """Return a column of bytes with one value per step of the batch; null becomes empty.

        Raises:
            RecordDamaged: The values are too long, or not in the rows of environment 0.
        """
        texts: list[bytes] = []
        with _reported():
            for chunk in self._table.column(name).chunks:
                words = chunk.dictionary.to_pylist()
                places = chunk.indices.to_pylist()
                if sum(len(words[i]) for i in places if i is not None) > MAX_BLOCK_BYTES:
                    raise ValueError(f"the texts of {name} are too long")
                texts += [b"" if i is None else words[i] for i in places]
        found = texts[:: self._envs]
        if sum(map(bool, texts)) != sum(map(bool, found)):
            raise damaged(f"its column {name} has values for other environments than the first")
        return found


def damaged(reason: str) -> RecordDamaged:
    """Return the exception for a damaged file."""
    return RecordDamaged(f"The Parquet file is damaged: {reason}.")
