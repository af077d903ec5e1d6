"""Episodes of one environment, recorded."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, ClassVar, Literal, SupportsFloat

from ludus.core.env import Env
from ludus.core.types import ActType, ObsType
from ludus.core.wrapper import Wrapper
from ludus.record.episodes.recorder import REFUSALS
from ludus.record.episodes.recording import Options
from ludus.record.episodes.recording_wrapper import RecordingWrapper
from ludus.record.format.keys import SigningKey

__all__ = ["RecordEpisodes"]


class RecordEpisodes(RecordingWrapper, Wrapper[ObsType, ActType, ObsType, ActType]):
    """Record actions, rewards, flags, seeds and checks of the observations into a run folder.

    What is recorded can be executed again (:func:`ludus.record.replay`), bit for bit, if the
    environment is deterministic and can be built from its spec. Rows are collected in memory and
    written as blocks. A process that is killed loses the rows since the last block: at most
    ``block_rows`` of them, and none older than ``flush_seconds`` when the next step is made;
    :meth:`flush` writes them at once. Leaving the context by an exception, or a call that did not
    complete, closes the run as interrupted, with every step that was made.

    Args:
        env: The environment, fresh: a replay starts with one that nothing has happened to.
        path: The run folder; new, or empty.
        observations: Whether observations are stored, not only their checks.
        video: Film every so many episodes, from the first on, into ``video/``.
        key: Signs the run when it is closed.
        block_rows: Rows per block at most.
        resume: Go on with the run at ``path`` if there is one: its actions are executed again, and
            recording goes on after them, see :attr:`resumed`.
        sync_every: Wait for the disk after so many blocks; ``None`` for the end only.
        flush_seconds: How old rows may get before they are written.

    Raises:
        RecordError: The folder is not empty or cannot be written.
        ReplayImpossible: The run at ``path`` cannot be gone on with.
    """

    state_fields: ClassVar[tuple[str, ...] | None] = ()

    def __init__(
        self,
        env: Env[ObsType, ActType],
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
        super().__init__(env)
        options = Options(observations, key, block_rows, resume, sync_every, flush_seconds)
        self._begin_recording(env, path, options, video)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; the first one without a seed gets one from the system, so that it is known."""
        recorder = self._recorder
        seed = recorder.begin_reset(seed, options)
        observation, info = self.env.reset(seed=seed, options=options)
        recorder.end_reset(observation)
        if self._film is not None:
            self._film.begin(recorder)
        return observation, info

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and record.

        Raises:
            RecordError: A call before was not completed, or the action has another form than the
                action space.
        """
        recorder = self._recorder
        recorder.begin_step(action)
        try:
            result = self.env.step(action)
        except REFUSALS:
            recorder.refused()
            raise
        recorder.end_step(result)
        if self._film is not None:
            self._film.take()
        return result

    def close(self) -> None:
        """Close the environment and the run."""
        self._end("complete")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        self._end("complete" if kind is None else "interrupted")
        return False

    def _end(self, outcome: str) -> None:
        try:
            self._end_recording(outcome)
        finally:
            self.env.close()
