"""Column layout of the Parquet files, for export and import.

==================  ======================================================================
column              content
==================  ======================================================================
row                 number of the (batch) step, from 0
env                 index of the environment, 0 for a single one
episode, step       numbers within the environment, from 0; null for a row that only resets
seed                seed of the episode, if any
action…             one column per leaf; bytes for spaces without a fixed size
reward              as returned, with ``terminated`` and ``truncated``
observation…        as returned by the step, one column per leaf, if included
observation_check   checksum of the batch observation; ``final_check`` of the final ones
reset               canonical JSON of the calls of ``reset`` before the step
reset_observation   result of the last of these calls, encoded by :mod:`ludus.codec`
final_observation   final observations under same-step autoreset, encoded likewise
==================  ======================================================================

Arrays are lists of a fixed size. Values of a whole batch (bytes, ``reset``) are in the row of
environment 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ludus.core.vector_env import AutoresetMode
from ludus.interop.recordings import Shape
from ludus.optional import require
from ludus.record.format.values import Leaf

__all__ = ["HEAD", "MANIFEST", "RECORDING", "VERSION", "ColumnLayout", "load_pyarrow"]

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
