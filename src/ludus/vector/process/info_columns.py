"""Infos in shared memory: numbers and arrays in columns, without pickling.

When an info first has a key, the worker reserves a column in its part of the buffer and sends its
place to the parent. From then on a value costs one assignment. If a value does not fit a column
(strings, objects, changing shapes), the block's infos of that step are sent through the pipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ludus.core.infos import add_info

__all__ = ["ColumnReader", "ColumnSpec", "ColumnWriter"]


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Place and type of one column; ``dtype`` is ``None`` for a dict, whose values are columns."""

    path: tuple[str, ...]
    dtype: str | None
    shape: tuple[int, ...]
    mask_offset: int
    values_offset: int


class _Column:
    """A column's views: ``mask`` marks the rows of ``values`` that are set."""

    __slots__ = ("children", "kind", "mask", "spec", "values")

    def __init__(self, spec: ColumnSpec, area: np.ndarray[Any, Any], rows: int) -> None:
        self.spec = spec
        self.kind: Any = dict
        self.children: dict[str, _Column] = {}
        self.mask = area[spec.mask_offset : spec.mask_offset + rows].view(np.bool_)
        self.values: Any = None
        if spec.dtype is not None:
            dtype = np.dtype(spec.dtype)
            nbytes = rows * dtype.itemsize * int(np.prod(spec.shape, dtype=np.int64))
            raw = area[spec.values_offset : spec.values_offset + nbytes]
            self.values = raw.view(dtype).reshape(rows, *spec.shape)


class ColumnWriter:
    """The worker's side, for a block of ``rows`` environments."""

    def __init__(self, area: np.ndarray[Any, Any], rows: int) -> None:
        self._area = area.reshape(-1)
        self._rows = rows
        self._free = 0
        self._top: dict[str, _Column] = {}
        self._columns: list[_Column] = []
        self.new: list[ColumnSpec] = []
        """Columns that have not been sent to the parent yet."""

    def clear(self) -> None:
        """Clear the values of the previous step."""
        for column in self._columns:
            column.mask[:] = False

    def write(self, row: int, info: dict[str, Any]) -> bool:
        """Store one environment's info; return ``False`` if a value does not fit its column."""
        try:
            return self._write(self._top, (), row, info)
        except (OverflowError, TypeError, ValueError):
            return False

    def _write(
        self,
        columns: dict[str, _Column],
        path: tuple[str, ...],
        row: int,
        info: dict[str, Any],
    ) -> bool:
        for key, value in info.items():
            column = columns.get(key)
            if column is None:
                column = self._define(columns, (*path, key), value)
                if column is None:
                    return False
            if type(value) is not column.kind:
                return False
            if column.kind is dict:
                if not self._write(column.children, column.spec.path, row, value):
                    return False
            else:
                if column.kind is np.ndarray and (
                    value.shape != column.spec.shape or value.dtype != column.values.dtype
                ):
                    return False
                column.values[row] = value
            column.mask[row] = True
        return True

    def _define(
        self, columns: dict[str, _Column], path: tuple[str, ...], value: Any
    ) -> _Column | None:
        kind = type(value)
        dtype: np.dtype[Any] | None
        shape: tuple[int, ...] = ()
        if kind is dict:
            dtype = None
        elif kind is np.ndarray and not value.dtype.hasobject:
            dtype, shape = value.dtype, value.shape
        elif kind in (bool, int, float) or issubclass(kind, np.number):
            dtype = np.dtype(kind)
        else:
            return None
        if not isinstance(path[-1], str) or path[-1] == "final_obs":
            return None
        mask_offset = self._free
        values_offset = mask_offset + -(-self._rows // 64) * 64
        itemsize = 0 if dtype is None else dtype.itemsize
        nbytes = self._rows * itemsize * int(np.prod(shape, dtype=np.int64))
        end = values_offset + -(-nbytes // 64) * 64
        if end > self._area.size:
            return None
        self._free = end
        spec = ColumnSpec(
            path, None if dtype is None else dtype.str, shape, mask_offset, values_offset
        )
        column = _Column(spec, self._area, self._rows)
        column.kind = kind
        columns[path[-1]] = column
        self._columns.append(column)
        self.new.append(spec)
        return column


class ColumnReader:
    """The parent's side of one worker's columns."""

    def __init__(self, area: np.ndarray[Any, Any], start: int, rows: int) -> None:
        self._area = area.reshape(-1)
        self._start = start
        self._rows = rows
        self._columns: list[_Column] = []

    def add(self, specs: list[ColumnSpec]) -> None:
        """Add columns that the worker has reserved."""
        self._columns += [_Column(spec, self._area, self._rows) for spec in specs]

    def merge(self, infos: dict[str, Any], num_envs: int) -> None:
        """Add all rows to the batch's infos; same result as :func:`add_info` for each row."""
        block = slice(self._start, self._start + self._rows)
        for column in self._columns:
            mask = column.mask
            if not mask.any():
                continue
            *parents, key = column.spec.path
            target = infos
            for parent in parents:
                target = target[parent]
            if key not in target:
                target[key] = (
                    {}
                    if column.values is None
                    else np.zeros((num_envs, *column.spec.shape), column.values.dtype)
                )
                target[f"_{key}"] = np.zeros(num_envs, np.bool_)
            if column.values is not None:
                target[key][block][mask] = column.values[mask]
            target[f"_{key}"][block] |= mask

    def rows(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the rows as separate infos, to be merged with those from pipes."""
        found: dict[int, dict[str, Any]] = {}
        for column in self._columns:
            *parents, key = column.spec.path
            for row in np.flatnonzero(column.mask):
                info = found.setdefault(int(row), {})
                for parent in parents:
                    info = info[parent]
                info[key] = {} if column.values is None else column.values[row].copy()
        return [(self._start + row, found[row]) for row in sorted(found)]


def merge_rows(rows: list[tuple[int, dict[str, Any]]], num_envs: int) -> dict[str, Any]:
    """Merge separate infos, in the order of their environments."""
    infos: dict[str, Any] = {}
    for index, info in sorted(rows, key=lambda row: row[0]):
        add_info(infos, info, index, num_envs)
    return infos
