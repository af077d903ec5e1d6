"""Wrappers that record the episodes of one environment, or of a vector environment."""

from __future__ import annotations

import os
import weakref
from typing import Any, ClassVar, Generic

from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_wrapper import VectorWrapper
from ludus.core.wrapper import Wrapper
from ludus.errors import RecordError
from ludus.record.episodes.recorder import REFUSALS, Recorder
from ludus.record.episodes.recording import Options, Resumed, open_recording
from ludus.record.episodes.video import Film
from ludus.record.format.keys import SigningKey

__all__ = ["RecordEpisodes", "RecordVectorEpisodes"]


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
