"""What the wrappers that record one environment, and many, have in common."""

from __future__ import annotations

import os
import weakref
from typing import Any

from ludus.core.types import State
from ludus.errors import RecordError
from ludus.record.episodes.recorder import Recorder
from ludus.record.episodes.recording import Options, Resumed, open_recording
from ludus.record.episodes.video import Film
from ludus.record.replay.subject import AnyEnv

__all__ = ["RecordingWrapper"]


class RecordingWrapper:
    """A recorder beside a wrapper's environment, and the methods that are about it."""

    _recorder: Recorder
    _film: Film | None
    resumed: Resumed | None
    """Where a resumed run stands; ``None`` for a new one."""

    def _begin_recording(
        self, env: AnyEnv, path: str | os.PathLike[str], options: Options, video: int | None
    ) -> None:
        self._film = None if video is None else Film(env, video)
        self._recorder, self.resumed = open_recording(env, path, options)
        self._finalizer = weakref.finalize(self, self._recorder.close, "interrupted")

    @property
    def recorder(self) -> Recorder:
        """What writes the run."""
        return self._recorder

    @property
    def rows(self) -> int:
        """Steps recorded so far; of many environments, batched ones."""
        return self._recorder.rows

    def set_state(self, state: State) -> None:
        """Refuse: a recording holds steps and resets, and nothing else can be executed again.

        Raises:
            RecordError: Always.
        """
        raise RecordError("A state cannot be set while recording. Set it before, or not at all.")

    def flush(self, *, sync: bool = False) -> None:
        """Write every step so far; with ``sync`` wait for the disk."""
        self._recorder.flush(sync=sync)

    def add_result(self, metric: str, value: float, **claim: Any) -> None:
        """Write a claim about the episodes so far, which ``verify`` will recompute."""
        self._recorder.add_result({"metric": metric, "value": value, **claim})

    def abandon(self) -> None:
        """Leave the run as it is: nothing is written to it when this wrapper goes away."""
        self._finalizer.detach()

    def _end_recording(self, outcome: str) -> None:
        try:
            if self._film is not None:
                self._film.finish(self._recorder)
        finally:
            self._finalizer.detach()
            self._recorder.close(outcome)
