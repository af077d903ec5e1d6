"""Wrappers that record the episodes of one environment, or of a vector environment."""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic

import numpy as np

from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.core.wrapper import Wrapper
from ludus.errors import RecordError, ReplayImpossible
from ludus.optional import check_installed
from ludus.record.episodes.recorder import REFUSALS, Recorder
from ludus.record.episodes.row_buffer import RowBuffer
from ludus.record.format import canonical
from ludus.record.format.event import MANIFEST
from ludus.record.format.keys import SigningKey
from ludus.record.format.values import values_of
from ludus.record.replay.provenance import provenance
from ludus.record.replay.replay import EPISODES, Playback
from ludus.record.replay.subject import AnyEnv, autoreset_mode, describe
from ludus.record.run.reader import read_run
from ludus.record.run.run import Run
from ludus.wrappers.video import write_video

__all__ = ["Film", "Options", "RecordEpisodes", "RecordVectorEpisodes", "Resumed", "open_recording"]


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


class Film:
    """Frames of one episode in every ``every``, stored as ``video/episode-000000.mp4``.

    Of a vector environment, the first environment is shown.

    Raises:
        DependencyNotInstalled: MoviePy is not installed.
        ValueError: The environment does not render images, or ``every`` is not positive.
    """

    def __init__(self, env: AnyEnv, every: int) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"video={every!r}: expected a positive number of episodes, or None.")
        if env.render_mode != "rgb_array":
            raise ValueError(
                f"A video needs images, but the render mode is {env.render_mode!r}. Build the "
                "environment with render_mode='rgb_array'."
            )
        check_installed("moviepy", extra="video")
        self._env = env
        self._every = every
        self._mode = autoreset_mode(env) if isinstance(env, VectorEnv) else None
        self._fps = env.metadata.get("render_fps", 30)
        self._episode = -1
        self._frames: list[Any] | None = None
        self._ended = False

    def begin(self, recorder: Recorder) -> None:
        """Begin an episode; the film of the one before is finished."""
        self.finish(recorder)
        self._episode += 1
        self._ended = False
        if self._episode % self._every == 0:
            self._frames = []
            self._shoot()

    def take(self, result: tuple[Any, Any, Any, Any, Any], recorder: Recorder) -> None:
        """Take a frame after a step, which in a batch may have begun an episode."""
        if self._mode is None:
            self._shoot()
            return
        ended = bool(result[2][0] or result[3][0])
        if self._mode is AutoresetMode.NEXT_STEP:
            ended, self._ended = self._ended, ended
        if ended and self._mode is not AutoresetMode.DISABLED:
            begun_by, self._ended = self._ended, False
            self.begin(recorder)
            self._ended = begun_by
        else:
            self._shoot()

    def _shoot(self) -> None:
        if self._frames is not None:
            frame: Any = self._env.render()
            self._frames.append(frame if self._mode is None else frame[0])

    def finish(self, recorder: Recorder) -> None:
        """Write the film of the current episode, if it is filmed."""
        frames, self._frames = self._frames, None
        if not frames or recorder.is_closed:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "film.mp4"
            write_video(frames, path, fps=self._fps)
            recorder.add_file(f"video/episode-{self._episode:06}.mp4", path)


class _Recording(Generic[ObsType, ActType]):
    """Base of both wrappers: the recorder beside the environment, and all calls that go to it."""

    env: Any
    resumed: Resumed | None
    """Where a resumed run stands; ``None`` for a new one."""

    def __init__(
        self,
        env: Any,
        path: str | os.PathLike[str],
        *,
        observations: bool = False,
        video: int | None = None,
        key: SigningKey | None = None,
        block_rows: int = 4096,
        resume: bool = False,
        sync_every: int | None = None,
        flush_seconds: float = 5.0,
    ) -> None:
        super().__init__(env)  # type: ignore[call-arg]
        options = Options(observations, key, block_rows, resume, sync_every, flush_seconds)
        # Not the argument: the environment of another library has been adapted.
        self._film = None if video is None else Film(self.env, video)
        self._recorder, self.resumed = open_recording(self.env, path, options)
        self._finalizer = weakref.finalize(self, self._recorder.close, "interrupted")

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; the first one without a seed gets one from the system, so that it is known."""
        recorder = self._recorder
        seed = recorder.begin_reset(seed, options)
        observation, info = self.env.reset(seed=seed, options=options)
        recorder.end_reset(observation)
        if self._film is not None and _resets_first(options):
            self._film.begin(recorder)
        return observation, info

    def step(self, action: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step and record.

        Raises:
            RecordError: The call before was not completed, or the action does not have the form of
                the action space.
        """
        recorder = self._recorder
        recorder.begin_step(action)
        try:
            result: tuple[ObsType, Any, Any, Any, dict[str, Any]] = self.env.step(action)
        except REFUSALS:
            recorder.refused()
            raise
        recorder.end_step(result)
        if self._film is not None:
            self._film.take(result, recorder)
        return result

    @property
    def recorder(self) -> Recorder:
        """The recorder, which writes the run."""
        return self._recorder

    @property
    def rows(self) -> int:
        """Steps recorded so far; of a vector environment, batched steps."""
        return self._recorder.rows

    def set_state(self, state: State) -> None:
        """Refuse: a recording consists of steps and resets, which can be executed again.

        Raises:
            RecordError: Always.
        """
        raise RecordError("A state cannot be set while recording. Set it before, or not at all.")

    def flush(self, *, sync: bool = False) -> None:
        """Write every step so far; with ``sync`` wait for the disk."""
        self._recorder.flush(sync=sync)

    def add_result(self, metric: str, value: float, **claim: Any) -> None:
        """Write a claim about the episodes so far; ``verify`` computes it again."""
        self._recorder.add_result({"metric": metric, "value": value, **claim})

    def abandon(self) -> None:
        """Leave the run as it is: nothing is written to it when this wrapper goes away."""
        self._finalizer.detach()

    def close(self, **kwargs: Any) -> None:
        """Close the environment and the run."""
        self._end("complete", **kwargs)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> Any:
        self._end("complete" if kind is None else "interrupted")
        return False

    def _end(self, outcome: str, **kwargs: Any) -> None:
        try:
            if self._film is not None:
                self._film.finish(self._recorder)
        finally:
            self._finalizer.detach()
            try:
                self._recorder.close(outcome)
            finally:
                self.env.close(**kwargs)


class RecordEpisodes(_Recording[ObsType, ActType], Wrapper[ObsType, ActType, ObsType, ActType]):
    """Record actions, rewards, flags, seeds and checks of the observations into a run folder.

    A recording can be executed again (:func:`ludus.record.replay`), bit for bit, if the
    environment is deterministic and can be built from its spec. Rows are collected in memory and
    written as blocks. A process that is killed loses the rows since the last block: at most
    ``block_rows`` of them, and none older than ``flush_seconds`` when the next step is made;
    :meth:`flush` writes them at once. Leaving the context by an exception, or a call that did not
    complete, closes the run as interrupted, with every step that was made.

    Args:
        env: The environment, not yet used: a replay starts with a new one.
        path: The run folder; new, or empty.
        observations: Whether observations are stored, not only their checks.
        video: Film one episode in this many, from the first on, into ``video/``.
        key: Signs the run when it is closed.
        block_rows: Most rows per block.
        resume: Resume the run at ``path`` if there is one: its actions are executed again, and
            recording continues after them, see :attr:`resumed`.
        sync_every: Wait for the disk after this many blocks; ``None`` only at the end.
        flush_seconds: How old rows may get before they are written.

    Raises:
        RecordError: The folder is not empty or cannot be written.
        ReplayImpossible: The run at ``path`` cannot be resumed.
    """

    state_fields: ClassVar[tuple[str, ...] | None] = ()


class RecordVectorEpisodes(
    _Recording[ObsType, ActType], VectorWrapper[ObsType, ActType, ObsType, ActType, Any]
):
    """Record a vector environment; one row per batched step.

    Arguments are those of :class:`~ludus.record.RecordEpisodes`. Every autoreset mode is recorded
    as it is; under same-step autoreset the last observations have a check of their own. A video
    shows the first environment.
    """

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step and record; as for :class:`~ludus.record.RecordEpisodes`."""
        return super().step(actions)


def _resets_first(options: dict[str, Any] | None) -> bool:
    """Tell whether a reset with these options resets the first environment."""
    return options is None or "reset_mask" not in options or bool(options["reset_mask"][0])
