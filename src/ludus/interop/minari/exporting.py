"""Export of a recording as a Minari dataset."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode
from ludus.errors import RecordDamaged, RecordError
from ludus.interop.minari.episode_file import EpisodeFile, LeafColumns
from ludus.interop.minari.metadata import spec_json
from ludus.interop.minari.spaces import load_h5py, write_space
from ludus.interop.recordings import (
    Progress,
    Rows,
    Segment,
    Segments,
    recomputed_rows,
    row_texts,
    shape_of,
    stored_rows,
    whole_folder,
)
from ludus.record.format import canonical
from ludus.record.run.reader import RunReader, read_run

__all__ = ["DATA", "METADATA", "MinariExport", "export_minari"]

DATA, METADATA = "main_data.hdf5", "metadata.json"
_VERSION = "0.5.4"  # of the dataset layout
_NAME = re.compile(r"[-_\w]+-v\d+")
_ABOUT = {"algorithm_name", "author", "author_email", "code_permalink", "description"}


@dataclass(frozen=True, slots=True)
class MinariExport:
    """Result of an export."""

    path: Path
    dataset_id: str
    episodes: int
    steps: int
    left_out: int
    """Number of episodes that were unfinished at a reset or the end of the recording."""


def export_minari(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    dataset_id: str | None = None,
    unfinished: bool = False,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> MinariExport:
    """Export a recording as a dataset for ``minari.load_dataset``.

    Observations that were not stored are recomputed by a replay. Episodes are numbered in the order
    in which they ended. Infos are not recorded and therefore missing.

    Args:
        run: The run folder.
        path: Folder to create, ``<root>/<dataset id>``. Minari finds the dataset by its id if the
            environment variable ``MINARI_DATASETS_PATH`` is the root.
        dataset_id: The id with its namespace, ``namespace/name-v0``; by default the last part of
            the path.
        unfinished: Also write unfinished episodes; no flag is set in their last step.
        about: Minari's fields ``author``, ``author_email``, ``algorithm_name``, ``code_permalink``
            and ``description``.
        progress: Called with the number of rows done and the total.

    Raises:
        ReplayImpossible: Observations are missing and a replay is not possible.
        RecordDamaged: The recording is damaged.
        RecordError: ``run`` is not a recording, Minari does not support its spaces, the id is
            malformed, or ``path`` exists or cannot be written.
        DependencyNotInstalled: h5py is missing.
    """
    load_h5py()
    target = Path(path)
    name = _checked_id(target, dataset_id)
    if unknown := sorted((about or {}).keys() - _ABOUT):
        raise RecordError(f"Minari has no field {unknown[0]!r}; it has {sorted(_ABOUT)}.")
    reader = read_run(run)
    exporter = _Exporter(reader)
    with whole_folder(target) as draft:
        data = draft / "data"
        data.mkdir(parents=True)
        with EpisodeFile(data / DATA, unfinished=unfinished) as file:
            for rows in exporter.rows():
                exporter.take(rows, file)
                if progress is not None:
                    progress(rows.first_row + rows.count, reader.rows)
            file.close()
        metadata = exporter.metadata(file)
        size = round((data / DATA).stat().st_size / 1e6, 1)
        metadata |= {**(about or {}), "dataset_id": name, "dataset_size": size}
        (data / METADATA).write_text(json.dumps(metadata))
    return MinariExport(target, name, file.episodes, file.steps, file.left_out)


def _checked_id(path: Path, dataset_id: str | None) -> str:
    name = path.name if dataset_id is None else dataset_id
    parts = name.split("/")
    if not _NAME.fullmatch(parts[-1]) or not all(re.fullmatch(r"[-_\w]+", part) for part in parts):
        raise RecordError(
            f"{name!r} is not a Minari dataset id; expected (namespace/)name-v0, with letters, "
            "digits, dashes and underscores."
        )
    if path.parts[-len(parts) :] != tuple(parts):
        raise RecordError(f"The folder of the dataset {name} must end in {name}, got {path}.")
    return name


class _Exporter:
    """Splits rows into pieces of episodes."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._subject = subject = reader.manifest["subject"]
        self._shape = shape = shape_of(reader.manifest)
        self._actions = LeafColumns("action", subject.get("action_space"), shape)
        self._seen = LeafColumns("observation", subject.get("observation_space"), shape)
        self._segments = Segments(shape.envs, shape.mode)
        self._last: list[NDArray[Any]] = []
        self._same_step = shape.mode is AutoresetMode.SAME_STEP
        self._resets, self._has_options = 0, False

    def rows(self) -> Iterator[Rows]:
        if self._shape.stored:
            return stored_rows(self._reader)
        return recomputed_rows(self._reader)

    def take(self, rows: Rows, file: EpisodeFile) -> None:
        """Write rows to the file, split into episodes."""
        if not rows.count:
            return
        self._resets += len(rows.resets)
        self._has_options |= any(reset.options is not None for reset in rows.resets)
        reward, terminated, truncated = self._shape.flags(rows)
        actions, seen = self._actions.arrays(rows), self._seen.arrays(rows)
        firsts, finals = row_texts(rows, "reset_observation"), row_texts(rows, "final_observation")
        opened: dict[int, Any] = {}
        for segment in self._segments.take(rows, terminated | truncated):
            index, part = segment.env_index, slice(segment.start, segment.stop)
            piece = {
                "rewards": reward[part, index],
                "terminations": terminated[part, index],
                "truncations": truncated[part, index],
            }
            piece |= _named("actions", self._actions, [each[part, index] for each in actions])
            parts = [each[part, index] for each in seen]
            if self._same_step and segment.ended:
                parts = self._with_last(parts, finals, segment)
            if not segment.first_step:
                parts = self._with_first(parts, seen, firsts, opened, segment)
            piece |= _named("observations", self._seen, parts)
            # Copies, because the rows are reused before the episode is written.
            own = {name: np.array(array) for name, array in piece.items()}
            file.add(index, segment.number, segment.seed, own)
            if segment.ended:
                file.finish(index)
        self._last = [np.array(each[-1:]) for each in seen]

    def _with_first(
        self,
        parts: list[NDArray[Any]],
        seen: list[NDArray[Any]],
        texts: list[bytes],
        opened: dict[int, Any],
        segment: Segment,
    ) -> list[NDArray[Any]]:
        """Return the observations, preceded by the episode's first one."""
        index, start = segment.env_index, segment.start
        if not segment.by_reset:
            before = [each[start - 1 : start] for each in seen] if start else self._last
            first = [each[:, index] for each in before]
        else:
            if start not in opened:
                if not texts[start]:
                    raise _missing("the observation of a reset")
                opened[start] = self._seen.parts(self._seen.decoded(texts[start]))
            first = [each[index : index + 1] for each in opened[start]]
        return [np.concatenate(pair) for pair in zip(first, parts, strict=True)]

    def _with_last(
        self, parts: list[NDArray[Any]], texts: list[bytes], segment: Segment
    ) -> list[NDArray[Any]]:
        """Return the observations, the last one replaced by the episode's final observation.

        Under same-step autoreset, the step returns the first observation of the next episode.
        """
        text = texts[segment.stop - 1]
        finals = self._seen.decoded(text) if text else ()
        try:
            final = self._seen.single(finals[segment.env_index])
        except (IndexError, KeyError, TypeError):
            raise _missing("the last observation of an episode") from None
        replaced = [np.array(each) for each in parts]
        for array, value in zip(replaced, final, strict=True):
            array[-1] = value
        return replaced

    def metadata(self, file: EpisodeFile) -> dict[str, Any]:
        """Return the dataset's metadata, including what an import needs."""
        manifest = self._reader.manifest
        # Whether the dataset has every episode, so that some may lack a seed.
        is_all = self._resets == file.episodes + file.still_growing and not self._has_options
        subject = self._subject
        if self._has_options:
            subject = {
                **subject,
                "unreplayable": "the options of its resets are not in the dataset",
            }
        origin = {
            "run": manifest["id"],
            "kind": manifest["kind"],
            "head": self._reader.head,
            "subject": subject,
            "provenance": manifest.get("provenance"),
            "in_order": is_all and self._shape.num_envs is None,
        }
        found = {
            "total_episodes": file.episodes,
            "total_steps": file.steps,
            "data_format": "hdf5",
            "jpeg_encoding": False,
            "minari_version": _VERSION,
            "observation_space": write_space(self._seen.space),
            "action_space": write_space(self._actions.space),
            "ludus": canonical.dumps(origin).decode(),
        }
        spec = spec_json(self._subject)
        return found if spec is None else {**found, "env_spec": spec}


def _named(what: str, columns: LeafColumns, arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    pairs = zip(columns.leaves, arrays, strict=True)
    return {f"{what}/{leaf.name}" if leaf.name else what: array for leaf, array in pairs}


def _missing(what: str) -> RecordDamaged:
    return RecordDamaged(f"The recording lacks {what}.", file="blocks.bin")
