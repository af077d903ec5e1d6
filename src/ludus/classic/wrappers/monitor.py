"""Wrapper that writes statistics and videos of episodes to a directory."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ludus.classic import logger
from ludus.classic.core import Wrapper
from ludus.classic.error import Error
from ludus.classic.version import VERSION
from ludus.classic.wrappers.monitoring.stats_recorder import StatsRecorder, write_json
from ludus.classic.wrappers.monitoring.video_recorder import VideoRecorder
from ludus.wrappers.video import capped_cubic_video_schedule

__all__ = ["Monitor", "capped_cubic_video_schedule", "detect_training_manifests"]

PREFIX = "openaigym"

Schedule = Callable[[int], bool]
_numbers = itertools.count()


def detect_training_manifests(directory: str | Path) -> list[Path]:
    """Return the manifests of monitors in a directory."""
    return sorted(Path(directory).glob(f"{PREFIX}.manifest.*.manifest.json"))


class Monitor(Wrapper):
    """Record lengths, returns and videos of episodes.

    On ``close`` it writes statistics, a manifest, and a video with metadata for each recorded
    episode. File names begin with ``openaigym.`` and contain the number of the monitor and the
    process id or ``uid``. An episode must be finished before the next ``reset``.

    Args:
        directory: Folder of the files; it is created.
        video_callable: Returns whether to record the episode of a number; by default the cubes
            below 1000, then every thousandth. ``False`` for none.
        force: Whether to delete files of earlier monitors.
        resume: Whether to keep files of earlier monitors.
        write_upon_reset: Whether to write at every reset as well, which is slow.
        uid: Part of the file names, instead of the process id.
        mode: ``"evaluation"`` or ``"training"``, recorded for each episode.

    Raises:
        Error: The directory has manifests and neither ``force`` nor ``resume`` is given, or an
            argument is invalid.
    """

    def __init__(
        self,
        env: Any,
        directory: str | Path,
        video_callable: Schedule | Literal[False] | None = None,
        force: bool = False,
        resume: bool = False,
        write_upon_reset: bool = False,
        uid: str | None = None,
        mode: str | None = None,
    ) -> None:
        super().__init__(env)
        logger.deprecation(
            "The Monitor wrapper is superseded by RecordVideo and RecordEpisodeStatistics."
        )
        self.directory = Path(directory).absolute()
        self.videos: list[tuple[str, str]] = []
        self.enabled = True
        self.write_upon_reset = write_upon_reset
        self.episode_id = 0
        self._video_enabled = _schedule(video_callable)
        self._video: VideoRecorder | None = None
        _prepare(self.directory, force=force, resume=resume)
        self._infix = f"{next(_numbers)}.{uid or os.getpid()}"
        self.env_id = "(unknown)" if env.spec is None else env.spec.id
        self.stats_recorder = StatsRecorder(
            self._path(f"episode_batch.{self._infix}.stats.json"), self.env_id, _episode_type(mode)
        )

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step and record.

        Raises:
            ResetNeeded: The episode is over, or none has begun.
        """
        if not self.enabled:
            return self.env.step(action)  # type: ignore[no-any-return]
        self.stats_recorder.before_step()
        observation, reward, done, info = self.env.step(action)
        self.stats_recorder.after_step(reward, done)
        if self._video is not None:
            self._video.capture_frame()
        return observation, reward, done, info

    def reset(self, **kwargs: Any) -> Any:
        """Reset and record the next episode.

        Raises:
            Error: The current episode is not finished.
        """
        if not self.enabled:
            return self.env.reset(**kwargs)
        self.stats_recorder.before_reset()
        observation = self.env.reset(**kwargs)
        self.stats_recorder.after_reset()
        self._start_video()
        self.episode_id += 1
        if self.write_upon_reset:
            self._write()
        return observation

    def close(self) -> None:
        """Write the files and close the environment; a second call writes nothing."""
        if self.enabled:
            self._close_video()
            self._write()
            self.enabled = False
        super().close()

    def get_total_steps(self) -> int:
        """Return the number of steps."""
        return self.stats_recorder.total_steps

    def get_episode_rewards(self) -> list[float]:
        """Return the sum of rewards of each finished episode."""
        return self.stats_recorder.episode_rewards

    def get_episode_lengths(self) -> list[int]:
        """Return the number of steps of each finished episode."""
        return self.stats_recorder.episode_lengths

    def _path(self, name: str) -> Path:
        return self.directory / f"{PREFIX}.{name}"

    def _start_video(self) -> None:
        self._close_video()
        self._video = VideoRecorder(
            self.env,
            base_path=self._path(f"video.{self._infix}.video{self.episode_id:06d}"),
            metadata={"episode_id": self.episode_id},
            enabled=bool(self._video_enabled(self.episode_id)),
        )
        self._video.capture_frame()

    def _close_video(self) -> None:
        if self._video is None:
            return
        recorded = self._video.functional
        self._video.close()
        if recorded:
            self.videos.append((self._video.path, self._video.metadata_path))
        self._video = None

    def _write(self) -> None:
        self.stats_recorder.flush()
        write_json(
            self._path(f"manifest.{self._infix}.manifest.json"),
            {
                "stats": self.stats_recorder.path.name,
                "videos": [[Path(v).name, Path(m).name] for v, m in self.videos],
                "env_info": {"gym_version": VERSION, "env_id": self.env_id},
            },
        )


def _schedule(video_callable: Any) -> Schedule:
    if video_callable is None:
        return capped_cubic_video_schedule
    if video_callable is False:
        return lambda _: False
    if not callable(video_callable):
        raise Error(
            "video_callable must be a function of the episode number, None or False, got "
            f"{video_callable!r} ({type(video_callable)})."
        )
    return video_callable  # type: ignore[no-any-return]


def _episode_type(mode: str | None) -> str:
    kinds = {None: "t", "training": "t", "evaluation": "e"}
    if mode not in kinds:
        raise Error(f"Invalid mode {mode!r}: must be 'training' or 'evaluation'.")
    return kinds[mode]


def _prepare(directory: Path, *, force: bool, resume: bool) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if force:
        for path in directory.glob(f"{PREFIX}.*"):
            path.unlink()
    elif not resume:
        found = detect_training_manifests(directory)
        if found:
            raise Error(
                f"{directory} holds existing monitor files: "
                f"{', '.join(path.name for path in found)}. Choose another directory, or pass "
                "force=True to delete them, or resume=True to add to them."
            )
