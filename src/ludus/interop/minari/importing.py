"""Import of a Minari dataset as a run of one environment."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludus.core.env import Env
from ludus.errors import RecordDamaged, RecordError
from ludus.interop.minari.dataset_file import DatasetFile, opened
from ludus.interop.minari.exporting import DATA, METADATA
from ludus.interop.minari.metadata import Metadata, read_metadata
from ludus.interop.minari.spaces import MAX_BYTES, assembled, leaves_of
from ludus.interop.recordings import IMPORTED, Progress, shape_of, whole_folder
from ludus.record.episodes.recorder import Recorder
from ludus.record.episodes.row_buffer import RowBuffer
from ludus.record.format.folder import Folder
from ludus.record.format.values import Leaf, values_of
from ludus.record.replay.provenance import provenance
from ludus.record.replay.replay import EPISODES
from ludus.record.replay.subject import describe
from ludus.record.run.run import Run
from ludus.spaces import Box, Space, to_dict

__all__ = ["MinariImport", "import_minari"]

_ROWS = 4096
_MOST_BYTES = 2**34
_NO_ENV = "it was imported, and it is not known how its environment was built"
_UNSEEDED = "it was imported, and the seeds of some episodes are unknown"


@dataclass(frozen=True, slots=True)
class MinariImport:
    """Result of an import."""

    path: Path
    episodes: int
    steps: int
    unreplayable: str | None
    """Why the run cannot be replayed; ``None`` if it can."""


def import_minari(
    dataset: str | os.PathLike[str],
    run: str | os.PathLike[str],
    *,
    env: Env[Any, Any] | None = None,
    most_bytes: int = _MOST_BYTES,
    progress: Progress | None = None,
) -> MinariImport:
    """Import an untrusted Minari dataset as a run folder; infos are not imported.

    The run can be replayed, and has the kind ``episodes``, if the environment and the start of each
    episode are known: the dataset was exported from a recording of one environment, or ``env`` is
    given and every episode has a seed. Otherwise it has the kind ``imported``.

    Args:
        dataset: The dataset's folder, or the folder ``data`` in it.
        run: Run folder to create.
        env: The environment of the dataset, built as it was then; it is not stepped or closed.
        most_bytes: Limit of the decompressed size of the arrays.
        progress: Called with the number of episodes done and the total.

    Raises:
        RecordDamaged: The dataset is damaged.
        RecordError: There is no dataset, its format is not supported, ``env`` has other spaces, or
            ``run`` exists or cannot be written.
        DependencyNotInstalled: h5py is missing.
    """
    folder = Path(dataset)
    if (folder / "data").is_dir():
        folder = folder / "data"
    with Folder(folder) as source:
        content, handle = source.read(METADATA, MAX_BYTES), source.open(DATA)
    if content is None or handle is None:
        raise RecordError(f"{folder} is not a Minari dataset: {METADATA} or {DATA} is missing.")
    with handle:
        checksum, size = handle.sha256()
        metadata = read_metadata(content)
        with (
            open(handle.number, "rb", closefd=False) as file,
            opened(file, size, most_bytes) as episodes,
        ):
            return _Import(metadata, episodes, env).write(Path(run), checksum, progress)


class _Import:
    def __init__(self, metadata: Metadata, file: DatasetFile, env: Env[Any, Any] | None) -> None:
        self._metadata = metadata
        self._file = file
        self._seeds = [file.seed(number) for number in range(metadata.episodes)]
        self._action_leaves = leaves_of(metadata.action_space)
        self._seen_leaves = leaves_of(metadata.observation_space)
        self._actions = values_of("action", metadata.action_space)
        self._seen = values_of("observation", metadata.observation_space)
        self._subject, self._provenance = self._described(env)

    def _described(self, env: Env[Any, Any] | None) -> tuple[dict[str, Any], Any]:
        """Return the manifest's subject and provenance."""
        if env is not None:
            self._check_spaces(env)
            subject = describe(env, self._actions, self._seen, stored=True)
            if subject["unreplayable"] is None and None in self._seeds:
                subject["unreplayable"] = _UNSEEDED
            return subject, provenance(env)
        origin = self._metadata.origin
        reason: str | None = _NO_ENV
        if origin is not None:
            reason = self._reason_not_to(origin.subject, in_order=origin.in_order is True)
            if reason is None:
                return {**origin.subject, "observations": True}, origin.provenance
        leaves = (*self._actions.leaves, *self._seen.leaves)
        columns = [
            {"name": name, "dtype": dtype, "shape": list(shape)}
            for name, dtype, shape in _columns(leaves)
        ]
        subject = {
            "id": None,
            "num_envs": None,
            "autoreset_mode": None,
            "observations": True,
            "columns": columns,
            "action_space": to_dict(self._metadata.action_space),
            "observation_space": to_dict(self._metadata.observation_space),
            "kwargs": {},
            "wrappers": [],
            "registered": None,
            "unreplayable": reason,
        }
        return subject, provenance()

    def _reason_not_to(self, subject: Any, *, in_order: bool) -> str | None:
        """Return why the original recording cannot be replayed, or ``None``."""
        if subject.get("num_envs") is not None:
            return "it was recorded from a batch, and only single episodes were exported"
        if subject.get("unreplayable") is not None:
            return f"{subject['unreplayable']!s:.500}"
        if not in_order and None in self._seeds:
            return _UNSEEDED
        try:
            stated = shape_of({"kind": EPISODES, "subject": subject})
        except RecordDamaged as problem:
            return f"the description of its original recording is invalid: {problem}"
        mine = (*self._actions.leaves, *self._seen.leaves)
        if _columns((*stated.actions, *stated.observations)) != _columns(mine):
            return "its original recording has other spaces"
        return None

    def _check_spaces(self, env: Env[Any, Any]) -> None:
        for name in ("action_space", "observation_space"):
            theirs, ours = getattr(self._metadata, name), getattr(env, name)
            if theirs != ours:
                raise RecordError(
                    f"The dataset has the {name} {theirs!r:.200}, but {env!r:.100} has "
                    f"{ours!r:.200}; the dataset was made with another environment."
                )

    def write(self, path: Path, checksum: str, progress: Progress | None) -> MinariImport:
        reason = self._subject["unreplayable"]
        origin = self._metadata.origin
        imported = {
            "format": "minari",
            "sha256": checksum,
            "metadata": dict(self._metadata.about),
            "origin": None if origin is None else {"run": origin.run, "head": origin.head},
        }
        with whole_folder(path) as draft:
            run = Run.create(
                draft,
                kind=EPISODES if reason is None else IMPORTED,
                subject=self._subject,
                provenance=self._provenance,
                imported=imported,
            )
            with run:
                buffer = RowBuffer(self._actions, self._seen, (), _ROWS)
                # An episode without a seed must not get one now.
                recorder = Recorder(
                    run, buffer, flush_seconds=math.inf, sync_every=None, was_reset=True
                )
                for number in range(self._metadata.episodes):
                    self._add(recorder, number)
                    if progress is not None:
                        progress(number + 1, self._metadata.episodes)
                recorder.close()
        return MinariImport(path, self._metadata.episodes, recorder.rows, reason)

    def _add(self, recorder: Recorder, number: int) -> None:
        metadata = self._metadata
        episode = self._file.episode(number, self._action_leaves, self._seen_leaves)
        seen = _values(metadata.observation_space, episode.observations())
        recorder.begin_reset(self._seeds[number], None)
        recorder.end_reset(next(seen))
        actions = _values(metadata.action_space, episode.actions())
        flags = (episode.rewards, episode.terminations, episode.truncations)
        for action, observation, *rest in zip(actions, seen, *flags, strict=True):
            recorder.begin_step(action)
            reward, terminated, truncated = rest
            recorder.end_step((observation, reward, terminated, truncated, {}))


def _values(space: Space[Any], rows: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    # A row of a one-dimensional array is a number, but values of a Box are arrays.
    boxes = [isinstance(leaf.space, Box) and not leaf.shape for leaf in leaves_of(space)]
    for parts in rows:
        found = parts if not any(boxes) else map(_as_box, parts, boxes)
        yield assembled(space, iter(found))


def _as_box(part: Any, is_box: bool) -> Any:
    return np.asarray(part) if is_box else part


def _columns(leaves: Iterable[Leaf]) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(leaf.name, leaf.dtype.str, leaf.shape) for leaf in leaves]
