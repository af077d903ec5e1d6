"""Export of a recording as a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import RecordError
from ludus.interop.parquet.layout import (
    HEAD,
    MANIFEST,
    RECORDING,
    VERSION,
    ColumnLayout,
    load_pyarrow,
)
from ludus.interop.recordings import (
    Progress,
    Rows,
    Segments,
    Shape,
    recomputed_rows,
    row_texts,
    shape_of,
    stored_rows,
    whole_file,
)
from ludus.record.format import canonical
from ludus.record.format.event import read_manifest
from ludus.record.format.folder import Folder
from ludus.record.replay.episode_table import Reset, column
from ludus.record.run.reader import RunReader, read_run

__all__ = ["ParquetExport", "export_parquet"]

_MOST_STEPS = 2**24  # in a block; recordings by Ludus have far fewer


@dataclass(frozen=True, slots=True)
class ParquetExport:
    """Result of an export."""

    path: Path
    rows: int
    """Number of steps of the batch."""
    steps: int
    """Number of rows in the file: one per environment and step."""


def export_parquet(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    observations: bool | None = None,
    progress: Progress | None = None,
) -> ParquetExport:
    """Export a recording as a Parquet file, which :func:`import_parquet` reads without loss.

    Only resets, steps and results are exported, not other events or additional files.

    Args:
        run: The run folder.
        path: File to create.
        observations: Whether observations are written; by default if they were stored. ``True``
            recomputes missing ones by a replay.
        progress: Called with the number of rows done and the total.

    Raises:
        ReplayImpossible: Observations are missing and a replay is not possible.
        RecordDamaged: The recording is damaged.
        RecordError: ``run`` is not a recording, or ``path`` exists or cannot be written.
        DependencyNotInstalled: pyarrow is missing.
    """
    _, parquet = load_pyarrow()
    reader, target = read_run(run), Path(path)
    shape = shape_of(reader.manifest)
    survey = _survey(reader, shape)
    wanted = shape.stored if observations is None else observations
    layout = ColumnLayout(shape, wanted, survey.widest)
    schema = layout.schema().with_metadata(_metadata(reader, layout, survey))
    found = recomputed_rows(reader) if wanted and not shape.stored else stored_rows(reader)
    tables = _Tables(layout, schema)
    with (
        whole_file(target) as draft,
        parquet.ParquetWriter(
            draft, schema, compression="zstd", use_dictionary=layout.repetitive
        ) as writer,
    ):
        for rows in found:
            if not rows.count or rows.first_row >= survey.rows:
                continue
            table = tables.table(rows)
            writer.write_table(table, row_group_size=table.num_rows)
            if progress is not None:
                progress(rows.first_row + rows.count, survey.rows)
    return ParquetExport(target, survey.rows, survey.rows * shape.envs)


@dataclass(frozen=True, slots=True)
class _Survey:
    """Properties of a recording that are needed before the first row is written."""

    rows: int
    trailing: tuple[Reset, ...]
    """Resets after the last row."""
    changes: dict[str, list[tuple[int, str]]]
    """Dtypes of float actions by column, each with the row from which on it applies."""

    @property
    def widest(self) -> dict[str, np.dtype[Any]]:
        """The smallest common dtype by column."""
        return {name: np.result_type(*(d for _, d in rows)) for name, rows in self.changes.items()}


def _survey(reader: RunReader, shape: Shape) -> _Survey:
    floats = [leaf for leaf in shape.actions if leaf.dtype.kind not in "iu"]
    changes: dict[str, list[tuple[int, str]]] = {leaf.name: [] for leaf in floats}
    count = 0
    trailing: tuple[Reset, ...] = ()
    for rows in stored_rows(reader):
        if not rows.count:
            trailing = rows.resets
        elif rows.count * shape.envs > _MOST_STEPS:
            raise RecordError(f"A block of {rows.count} rows is too large to be exported.")
        for leaf in floats if rows.count else ():
            found = rows.columns.get(leaf.name)
            dtype = (leaf.dtype if found is None else found.dtype).str
            if not changes[leaf.name] or changes[leaf.name][-1][1] != dtype:
                changes[leaf.name].append((rows.first_row, dtype))
        count += rows.count
    return _Survey(count, trailing, {name: found for name, found in changes.items() if found})


def _metadata(reader: RunReader, layout: ColumnLayout, survey: _Survey) -> dict[bytes, bytes]:
    with Folder(reader.path) as folder:
        _, manifest = read_manifest(folder)
    recording = {
        "version": VERSION,
        "rows": survey.rows,
        "outcome": reader.outcome,
        "observations": layout.observations,
        "dtypes": {name: [list(row) for row in rows] for name, rows in survey.changes.items()},
        "resets": _plain(survey.trailing),
        "results": [dict(event.data) for event in reader.events if event.kind == "result"],
    }
    return {
        MANIFEST: manifest,
        HEAD: reader.head.encode(),
        RECORDING: canonical.dumps(recording),
    }


def _plain(resets: Sequence[Reset]) -> list[dict[str, Any]]:
    return [{"seed": r.seed, "options": r.options, "check": r.check} for r in resets]


class _Tables:
    """Converts rows to Arrow tables."""

    def __init__(self, layout: ColumnLayout, schema: Any) -> None:
        self._pa, _ = load_pyarrow()
        self._layout = layout
        self._schema = schema
        self._shape = layout.shape
        self._segments = Segments(layout.shape.envs, layout.shape.mode)

    def table(self, rows: Rows) -> Any:
        """Return rows as a table."""
        columns = dict(self._columns(rows))
        arrays = [columns[name] for name in self._schema.names]
        return self._pa.Table.from_arrays(arrays, schema=self._schema)

    def _columns(self, rows: Rows) -> Iterator[tuple[str, Any]]:
        array, envs = self._pa.array, self._shape.envs
        numbers = np.arange(rows.first_row, rows.first_row + rows.count)
        yield "row", array(np.repeat(numbers, envs))
        yield "env", array(np.tile(np.arange(envs, dtype=np.int32), rows.count))
        reward, terminated, truncated = self._shape.flags(rows)
        yield from self._episodes(rows, terminated | truncated)
        for leaf in self._layout.leaves:
            stored = rows.columns.get(leaf.name)
            is_float = stored is not None and leaf.name in self._layout.dtypes
            dtype = stored.dtype if stored is not None and is_float else leaf.dtype
            values = column(rows.columns, leaf.name, dtype, leaf.shape).astype(leaf.dtype)
            flat = array(values.reshape(-1))
            if self._layout.is_scalar(leaf):
                yield leaf.name, flat
            elif size := self._layout.size_of(leaf):
                yield leaf.name, self._pa.FixedSizeListArray.from_arrays(flat, size)
        yield "reward", array(reward.reshape(-1))
        yield "terminated", array(terminated.reshape(-1))
        yield "truncated", array(truncated.reshape(-1))
        for name in self._layout.checks:
            yield name, array(np.repeat(column(rows.columns, name, np.uint64, ()), envs))
        for name in self._layout.texts:
            yield name, self._texts(row_texts(rows, name))
        yield "reset", self._texts(_reset_texts(rows))

    def _episodes(self, rows: Rows, over: NDArray[np.bool_]) -> Iterator[tuple[str, Any]]:
        form = (rows.count, self._shape.envs)
        numbers, steps = np.full(form, -1, np.int64), np.zeros(form, np.int64)
        seeds, seeded = np.zeros(form, np.uint64), np.zeros(form, np.bool_)
        for segment in self._segments.take(rows, over):
            place = slice(segment.start, segment.stop), segment.env_index
            numbers[place] = segment.number
            steps[place] = np.arange(segment.stop - segment.start) + segment.first_step
            if segment.seed is not None and segment.seed < 2**64:
                seeds[place], seeded[place] = segment.seed, True
        outside = (numbers < 0).reshape(-1)
        yield "episode", self._pa.array(numbers.reshape(-1), mask=outside)
        yield "step", self._pa.array(steps.reshape(-1), mask=outside)
        yield "seed", self._pa.array(seeds.reshape(-1), mask=~seeded.reshape(-1))

    def _texts(self, texts: Sequence[bytes]) -> Any:
        """Return a bytes column with each text in the row of environment 0; empty ones are null."""
        pa, envs = self._pa, self._shape.envs
        sizes = np.zeros(len(texts) * envs, np.int32)
        sizes[::envs] = [len(text) for text in texts]
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        valid = np.packbits(sizes > 0, bitorder="little")
        buffers = [pa.py_buffer(part) for part in (valid, ends, b"".join(texts))]
        return pa.BinaryArray.from_buffers(pa.binary(), len(sizes), buffers)


def _reset_texts(rows: Rows) -> list[bytes]:
    found = [b""] * rows.count
    by_row: dict[int, list[Reset]] = {}
    for reset in rows.resets:
        by_row.setdefault(reset.row - rows.first_row, []).append(reset)
    for row, resets in by_row.items():
        found[row] = canonical.dumps(_plain(resets))
    return found
