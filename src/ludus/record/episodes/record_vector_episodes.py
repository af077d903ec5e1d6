"""Episodes of many environments stepped together, recorded."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from ludus.core.types import ActType, ObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.record.episodes.recorder import REFUSALS
from ludus.record.episodes.recording import Options
from ludus.record.episodes.recording_wrapper import RecordingWrapper
from ludus.record.format.keys import SigningKey

__all__ = ["RecordVectorEpisodes"]


class RecordVectorEpisodes(
    RecordingWrapper, VectorWrapper[ObsType, ActType, ObsType, ActType, Any]
):
    """Record a vector environment; one row per batched step.

    As :class:`~ludus.record.RecordEpisodes`, arguments included; every autoreset mode is recorded
    as it is. Under same-step autoreset the last observations have a check of their own. A video
    shows the first environment, an episode of it at a time.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Any],
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
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; the first one without a seed gets one from the system, so that it is known."""
        recorder = self._recorder
        seed = recorder.begin_reset(seed, options)
        observations, infos = self.env.reset(seed=seed, options=options)
        recorder.end_reset(observations)
        if self._film is not None and _resets_first(options):
            self._film.begin(recorder)
        return observations, infos

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step and record.

        Raises:
            RecordError: A call before was not completed, or the actions have another form than
                the action space.
        """
        recorder = self._recorder
        recorder.begin_step(actions)
        try:
            result = self.env.step(actions)
        except REFUSALS:
            recorder.refused()
            raise
        recorder.end_step(result)
        if self._film is not None:
            self._film.take_first(result, recorder)
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the environments and the run."""
        self._end("complete", **kwargs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end("complete" if kind is None else "interrupted")

    def _end(self, outcome: str, **kwargs: Any) -> None:
        try:
            self._end_recording(outcome)
        finally:
            self.env.close(**kwargs)


def _resets_first(options: dict[str, Any] | None) -> bool:
    return options is None or "reset_mask" not in options or bool(options["reset_mask"][0])
