"""Starting a recording, or resuming one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import RecordError, ReplayImpossible
from ludus.record.episodes.recorder import Recorder
from ludus.record.episodes.row_buffer import RowBuffer
from ludus.record.format import canonical
from ludus.record.format.keys import SigningKey
from ludus.record.format.manifest import MANIFEST
from ludus.record.format.values import values_of
from ludus.record.replay.playback import Playback
from ludus.record.replay.provenance import provenance
from ludus.record.replay.replay import EPISODES
from ludus.record.replay.subject import AnyEnv, autoreset_mode, describe
from ludus.record.run.reader import read_run
from ludus.record.run.run import Run

__all__ = ["Options", "Resumed", "open_recording"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to record; see :class:`~ludus.record.RecordEpisodes`."""

    observations: bool
    key: SigningKey | None
    block_rows: int
    resume: bool
    sync_every: int | None
    flush_seconds: float

    def __post_init__(self) -> None:
        if self.block_rows < 1:
            raise ValueError(f"block_rows={self.block_rows!r}: expected at least 1.")
        if self.sync_every is not None and self.sync_every < 1:
            raise ValueError(f"sync_every={self.sync_every!r}: expected at least 1, or None.")


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a resumed recording stands: what the last recorded call returned."""

    rows: int
    """Steps that are recorded, and have been executed again."""
    observation: Any
    info: Any
    terminated: Any
    """Flags of the last step; ``None`` if a reset came last, or nothing is recorded yet."""
    truncated: Any

    @property
    def needs_reset(self) -> bool:
        """Whether the next call has to be ``reset``.

        Many environments without autoreset need a partial one: see :attr:`terminated` and
        :attr:`truncated`.
        """
        if self.observation is None:
            return True
        is_flag = self.terminated is not None and np.ndim(self.terminated) == 0
        return is_flag and bool(self.terminated or self.truncated)


def open_recording(
    env: AnyEnv, path: str | os.PathLike[str], options: Options
) -> tuple[Recorder, Resumed | None]:
    """Start a recording, or resume one.

    Raises:
        RecordError: There is a run already and ``resume`` is not set, or the folder cannot be
            written.
        ReplayImpossible: The run to resume was made with another environment, or does not come out
            the same when it is executed again.
    """
    actions = values_of("action", env.action_space)
    observations = values_of("observation", env.observation_space)
    subject = describe(env, actions, observations, stored=options.observations)
    batch: tuple[int, ...] = ()
    finals = False
    if isinstance(env, VectorEnv):
        batch, finals = (env.num_envs,), autoreset_mode(env) is AutoresetMode.SAME_STEP
    buffer = RowBuffer(
        actions,
        observations if options.observations else None,
        batch,
        options.block_rows,
        finals=finals,
    )
    resumed = None
    if options.resume and (Path(path) / MANIFEST).exists():
        run = Run.resume(path, key=options.key)
        try:
            resumed = _catch_up(run, env, subject)
        except BaseException:  # an interrupt too; raised again
            run.close("interrupted")
            raise
        if resumed.observation is not None and resumed.terminated is None:
            buffer.keep_first(resumed.observation)  # it belongs to the next row
    else:
        source = provenance(env)
        run = Run.create(path, kind=EPISODES, subject=subject, key=options.key, provenance=source)
    recorder = Recorder(
        run,
        buffer,
        flush_seconds=options.flush_seconds,
        sync_every=options.sync_every,
        was_reset=resumed is not None and resumed.observation is not None,
    )
    return recorder, resumed


def _catch_up(run: Run, env: AnyEnv, subject: dict[str, Any]) -> Resumed:
    """Execute the recording in a new environment, so that it stands where the run ends."""
    recorded = run.manifest["subject"]
    if run.manifest["kind"] != EPISODES:
        raise RecordError(f"{run.path} is no recording of episodes; record into another folder.")
    for name in subject.keys() | recorded.keys():
        if canonical.dumps(subject.get(name)) != canonical.dumps(recorded.get(name)):
            raise ReplayImpossible(
                f"The recording in {run.path} cannot be resumed: its {name} was "
                f"{recorded.get(name)!r:.200}, here it is {subject.get(name)!r:.200}. Build the "
                "same environment, or record into another folder."
            )
    playback = Playback(read_run(run.path), env)
    mismatch = None
    for mismatch in playback.run():  # noqa: B007, the last one counts
        pass
    if mismatch is not None:
        raise ReplayImpossible(
            f"The recording in {run.path} cannot be resumed: executed again, {mismatch.field} "
            f"of row {mismatch.row} is {mismatch.replayed!r:.100} instead of "
            f"{mismatch.recorded!r:.100}. Is the environment deterministic, and the same code?"
        )
    last = playback.last
    if last is None:
        return Resumed(playback.rows, None, {}, None, None)
    if len(last) == 2:
        return Resumed(playback.rows, last[0], last[1], None, None)
    return Resumed(playback.rows, last[0], last[4], last[2], last[3])
