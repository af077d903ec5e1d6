"""Which columns a Parquet file of a recording has; both directions build on it.

==================  ======================================================================
column              what it holds
==================  ======================================================================
row                 number of the (batched) step, from 0
env                 which environment, 0 for a single one
episode, step       of that environment, from 0; null for a row that only resets
seed                that the episode began with, if any
action…             one column per leaf; bytes for spaces without a fixed size
reward              as returned, with ``terminated`` and ``truncated``
observation…        as returned by the step, one column per leaf, if there are any
observation_check   of the whole batched observation; ``final_check`` of the last ones
reset               canonical JSON of the calls of ``reset`` before the step
reset_observation   what the last of them returned, encoded by :mod:`ludus.codec`
final_observation   last observations under same-step autoreset, encoded likewise
==================  ======================================================================

Arrays are lists of a fixed size. What belongs to a whole batch (bytes, ``reset``) stands in the row
of environment 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ludus.core.vector_env import AutoresetMode
from ludus.interop.parquet.library import load_pyarrow
from ludus.interop.recordings import Shape
from ludus.record.format.values import Leaf

__all__ = ["HEAD", "MANIFEST", "RECORDING", "VERSION", "ColumnLayout"]

MANIFEST, HEAD, RECORDING = b"ludus.manifest", b"ludus.head", b"ludus.recording"
"""Keys of the file's metadata: the manifest's bytes, the chain's last hash, everything else."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The columns of one file."""

    shape: Shape
    observations: bool
    """Whether observations are in the file."""
    dtypes: Mapping[str, np.dtype[Any]] = field(default_factory=dict)
    """Of actions that were given in another dtype than their space has."""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Columns of actions, and of observations if they are there, as blocks hold them."""
        actions = [
            Leaf(leaf.name, (), self.dtypes.get(leaf.name, leaf.dtype), leaf.shape)
            for leaf in self.shape.actions
        ]
        return (*actions, *(self.shape.observations if self.observations else ()))

    @property
    def checks(self) -> tuple[str, ...]:
        """Columns that hold one number per batch."""
        finals = ("final_check",) if self._same_step else ()
        return ("observation_check", *finals)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns that hold bytes, one text per batch; ``reset`` is another one."""
        names = [] if self.shape.actions else ["action"]
        if self.observations:
            names += [] if self.shape.observations else ["observation"]
            names += ["reset_observation", *(["final_observation"] if self._same_step else [])]
        return tuple(names)

    @property
    def row_bytes(self) -> int:
        """How much the numbers of one batched row take."""
        width = sum(leaf.dtype.itemsize * math.prod(leaf.shape) for leaf in self.leaves)
        return width + 64 * self.shape.envs

    def size_of(self, leaf: Leaf) -> int:
        """Return how many numbers one environment has in a column."""
        return math.prod(leaf.shape[len(self.shape.batch) :])

    def is_scalar(self, leaf: Leaf) -> bool:
        """Tell whether one environment has a bare number in a column."""
        return len(leaf.shape) == len(self.shape.batch)

    def schema(self) -> Any:
        """Return pyarrow's schema; columns of arrays without elements are left out."""
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
        """Columns in which few different values are likely.

        No floats: as entries of a dictionary, numbers that are equal but for some bits might
        become one.
        """
        scalars = [leaf for leaf in self.leaves if self.is_scalar(leaf)]
        whole = [leaf.name for leaf in scalars if leaf.dtype.kind in "iu"]
        return ["env", "episode", "seed", *self.checks, *whole]

    @property
    def _same_step(self) -> bool:
        return self.shape.mode is AutoresetMode.SAME_STEP
