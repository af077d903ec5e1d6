"""Replay: execute a recording again, and compare it bit for bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ludus.errors import ReplayImpossible
from ludus.record.replay.episode_table import episodes
from ludus.record.replay.playback import Mismatch, Playback
from ludus.record.replay.rebuild import rebuild
from ludus.record.replay.subject import AnyEnv
from ludus.record.run.reader import RunReader, read_run

__all__ = ["EPISODES", "Difference", "Replay", "replay", "replay_reader"]

EPISODES = "episodes"
"""The kind of run that a recording of episodes is."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step and field in which a replay differs from the recording."""

    row: int
    env_index: int | None
    """``None`` if there is one environment only, or the whole row is meant."""
    episode: int | None
    """Number of the environment's episode; ``None`` outside of one, or for a whole row."""
    step: int | None
    """Number of the step within it, from 0."""
    field: str
    """``reward``, ``terminated``, ``truncated``, ``observation…``; ``observation_check`` and
    ``reset_check`` if observations were not stored; ``step`` or ``reset`` if the call failed."""
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        where = f"row {self.row}"
        if self.env_index is not None:
            where += f", environment {self.env_index}"
        if self.episode is not None:
            where += f", episode {self.episode}, step {self.step}"
        return f"{where}: {self.field} was {self.recorded!r}, now it is {self.replayed!r}"


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of executing a recording again."""

    rows: int
    """Rows that agree."""
    episodes: int
    """Episodes that ended in them."""
    difference: Difference | None
    seconds: float

    @property
    def is_equal(self) -> bool:
        """Whether everything came out the same."""
        return self.difference is None


def replay(
    path: str | os.PathLike[str],
    *,
    env_factory: Callable[[], AnyEnv] | None = None,
    progress: Callable[[int, int], None] | None = None,
    head: str | None = None,
) -> Replay:
    """Execute a recording again and compare every value, bit for bit.

    Args:
        path: The run folder.
        env_factory: Builds the environment; by default it is built from what the manifest says,
            with the code that is registered for its id here.
        progress: Called after each block with the rows done and the rows in all.
        head: The chain head that the run must have; see :func:`~ludus.record.read_run`.

    Raises:
        ReplayImpossible: It is no recording of episodes, or the environment is nondeterministic,
            unknown or cannot be built again; the message says why.
        RecordDamaged: The recording is broken.
        RecordError: There is no run.
    """
    return replay_reader(read_run(path, head=head), env_factory=env_factory, progress=progress)


def replay_reader(
    reader: RunReader,
    *,
    env_factory: Callable[[], AnyEnv] | None = None,
    progress: Callable[[int, int], None] | None = None,
    max_seconds: float | None = None,
) -> Replay:
    """Execute a recording that is open already, for a limited time; as :func:`replay`."""
    start = time.perf_counter()
    if reader.manifest["kind"] != EPISODES:
        raise ReplayImpossible(
            f"{reader.path} is a run of the kind {reader.manifest['kind']!r:.50}; only recordings "
            "of episodes can be executed again."
        )
    env = rebuild(reader.manifest["subject"]) if env_factory is None else env_factory()
    mismatch: Mismatch | None = None
    try:
        playback = Playback(reader, env, max_seconds=max_seconds)
        for mismatch in playback.run():  # noqa: B007, the last one counts
            if progress is not None:
                progress(playback.rows, reader.rows)
    finally:
        env.close()
    difference = None if mismatch is None else _explained(reader, mismatch)
    return Replay(playback.rows, playback.ends, difference, time.perf_counter() - start)


def _explained(reader: RunReader, found: Mismatch) -> Difference:
    """Return the mismatch with the episode and step it lies in."""
    count = reader.manifest["subject"].get("num_envs")
    index = 0 if count is None else found.env_index
    if index is not None:
        for each in episodes(reader, unfinished=True):
            step = found.row - each.first_row
            if each.env_index == index and 0 <= step < each.length:
                return _difference(found, each.number, step)
    return _difference(found, None, None)


def _difference(found: Mismatch, episode: int | None, step: int | None) -> Difference:
    return Difference(
        found.row, found.env_index, episode, step, found.field, found.recorded, found.replayed
    )
