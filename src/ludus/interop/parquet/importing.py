"""Import of a Parquet file that Ludus exported."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import CodecError, RecordError
from ludus.interop.parquet.layout import (
    HEAD,
    MANIFEST,
    RECORDING,
    VERSION,
    ColumnLayout,
    Group,
    TableFile,
    damaged,
)
from ludus.interop.recordings import Progress, shape_of, whole_folder
from ludus.record.format import canonical
from ludus.record.format.columns import DTYPES, narrowed
from ludus.record.format.event import COMPLETE, INTERRUPTED, parse_manifest
from ludus.record.format.values import pack_texts
from ludus.record.replay.episode_table import episodes
from ludus.record.run.reader import read_run
from ludus.record.run.run import Run

__all__ = ["ParquetImport", "import_parquet"]

_OWN = {"created", "format", "id", "imported", "kind", "subject", "version"}
_RESET = {"seed", "options", "check"}


@dataclass(frozen=True, slots=True)
class ParquetImport:
    """Result of an import."""

    path: Path
    rows: int
    """Number of steps of the batch."""


def import_parquet(
    source: str | os.PathLike[str],
    run: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> ParquetImport:
    """Import an untrusted Parquet file that Ludus exported as a run folder.

    Rows, resets and results are bit-identical to the original. The run gets a new hash chain and no
    signature; the manifest's field ``imported`` names the original.

    Args:
        source: The file.
        run: Run folder to create.
        progress: Called with the number of rows done and the total.

    Raises:
        RecordDamaged: The file is damaged or was changed.
        RecordError: There is no file, it was not exported by Ludus, or ``run`` exists or cannot be
            written.
        DependencyNotInstalled: pyarrow is missing.
    """
    try:
        file = Path(source).open("rb")  # noqa: SIM115, closed below
    except OSError as problem:
        raise RecordError(f"{source} cannot be read: {problem.strerror}.") from None
    with file:
        return _Import(file).write(Path(run), progress)


class _Import:
    def __init__(self, file: BufferedReader) -> None:
        self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        self._file = TableFile(file)
        metadata = self._file.metadata
        if not {MANIFEST, HEAD, RECORDING} <= metadata.keys():
            raise RecordError("The Parquet file was not exported by Ludus: it has no manifest.")
        self._original = parse_manifest(metadata[MANIFEST])
        self._head = metadata[HEAD].decode(errors="replace")[:64]
        self._manifest_hash = hashlib.sha256(metadata[MANIFEST]).hexdigest()
        try:
            self._recording = canonical.loads(metadata[RECORDING])
        except CodecError as problem:
            raise damaged(f"its description of the recording cannot be read: {problem}") from None
        self._check_recording()
        shape = shape_of(self._original)
        stored = self._recording["observations"]
        self._subject = {**self._original["subject"], "observations": stored}
        self._changes = {
            leaf.name: self._recording["dtypes"].get(leaf.name, []) for leaf in shape.actions
        }
        widest = {
            name: np.result_type(*(DTYPES[dtype] for _, dtype in rows))
            for name, rows in self._changes.items()
            if rows
        }
        self._layout = ColumnLayout(replace(shape, stored=stored), stored, widest)

    def _check_recording(self) -> None:
        found = self._recording
        if not isinstance(found, dict) or found.get("version") != VERSION:
            raise damaged("its version is missing or not supported")
        forms = {"rows": int, "observations": bool, "dtypes": dict, "resets": list, "results": list}
        if any(type(found.get(name)) is not form for name, form in forms.items()):
            raise damaged("its description of the recording is incomplete")
        for changes in found["dtypes"].values():
            if not isinstance(changes, list) or not all(map(_is_change, changes)):
                raise damaged("the dtypes of its actions are malformed")
        if not all(isinstance(claim, dict) for claim in found["results"]):
            raise damaged("its results are malformed")

    def write(self, path: Path, progress: Progress | None) -> ParquetImport:
        kept = {name: value for name, value in self._original.items() if name not in _OWN}
        outcome = COMPLETE if self._recording["outcome"] == COMPLETE else INTERRUPTED
        total = self._recording["rows"]
        with whole_folder(path) as draft:
            run = Run.create(
                draft,
                kind=self._original["kind"],
                subject=self._subject,
                imported=self._imported(),
                **kept,
            )
            with run:
                for group in self._file.groups(self._layout):
                    self._add(run, group)
                    if progress is not None:
                        progress(run.rows, total)
                if run.rows != total:
                    raise damaged(f"it has {run.rows} rows instead of {total}")
                self._add_resets(run, self._recording["resets"], total)
                for claim in self._recording["results"]:
                    run.append("result", claim)
                run.close(outcome)
            # Reading the episodes checks resets and flags.
            for _ in episodes(read_run(draft)):
                pass
        return ParquetImport(path, total)

    def _imported(self) -> dict[str, Any]:
        return {
            "format": "parquet",
            "sha256": self._sha256,
            "origin": {
                "run": self._original["id"],
                "created": self._original["created"],
                "manifest": self._manifest_hash,
                "head": self._head,
                "outcome": self._recording["outcome"],
                "imported": self._original.get("imported"),
            },
        }

    def _add(self, run: Run, group: Group) -> None:
        for row, text in enumerate(group.texts("reset"), group.first_row):
            if text:
                try:
                    resets = canonical.loads(text)
                except CodecError as problem:
                    raise damaged(f"the reset of row {row} cannot be read: {problem}") from None
                self._add_resets(run, resets, row)
        run.append_block(dict(self._columns(group)))

    def _add_resets(self, run: Run, resets: Any, row: int) -> None:
        if not isinstance(resets, list):
            raise damaged(f"the reset of row {row} is malformed")
        for reset in resets:
            if not isinstance(reset, dict) or reset.keys() != _RESET:
                raise damaged(f"the reset of row {row} is malformed")
            run.append("reset", {"row": row, **reset})

    def _columns(self, group: Group) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the columns in the order and with the dtypes of a recorder."""
        layout, batch = self._layout, self._layout.shape.batch
        actions = len(layout.shape.actions)
        for leaf in layout.leaves[:actions]:
            found = self._numbers(group, leaf)
            given = _dtype_at(self._changes[leaf.name], group.first_row)
            yield leaf.name, found if given is None else found.astype(given, copy=False)
        yield "reward", narrowed(group.numbers("reward").reshape(group.count, *batch))
        for name in ("terminated", "truncated"):
            yield name, group.numbers(name).reshape(group.count, *batch)
        for name in layout.checks:
            yield name, group.common(name)
        for leaf in layout.leaves[actions:]:
            yield leaf.name, self._numbers(group, leaf)
        for name in layout.texts:
            texts = group.texts(name)
            if any(texts):
                yield from pack_texts(name, texts).items()

    def _numbers(self, group: Group, leaf: Any) -> NDArray[Any]:
        form = (group.count, *leaf.shape)
        if not self._layout.size_of(leaf):
            return np.zeros(form, leaf.dtype)
        found = group.numbers(leaf.name).reshape(form)
        return narrowed(found) if leaf.dtype.kind in "iu" else found


def _is_change(row: Any) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 2
        and type(row[0]) is int
        and isinstance(row[1], str)
        and row[1] in DTYPES
    )


def _dtype_at(changes: Sequence[Any], row: int) -> np.dtype[Any] | None:
    """Return the dtype of float actions at a row; ``None`` for that of their space."""
    found = [dtype for first, dtype in changes if first <= row]
    return DTYPES[found[-1]] if found else None
