"""All environments on film, side by side."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from math import isqrt
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ludus import logger
from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ObsType
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.errors import Error
from ludus.wrappers.dependencies import check_installed
from ludus.wrappers.video import capped_cubic_video_schedule, write_video

__all__ = ["RecordVideo"]

Trigger = Callable[[int], bool]
_Frame = npt.NDArray[Any]


def _always(_: int) -> bool:
    return True


class RecordVideo(VectorWrapper[ObsType, ActType, ObsType, ActType, Any], RecordConstructorArgs):
    """Write videos in which the frames of all environments form a grid.

    Episodes are those of the first environment. A video starts at an episode or a step chosen by
    a trigger, and ends with the episode, after ``video_length`` frames, when the next one starts,
    or at ``close``, whichever is first. Under same-step autoreset it lacks each episode's last
    frame, which is gone when the step returns.

    Args:
        env: The vector environment; it renders images.
        video_folder: Where the files go: ``<name_prefix>-episode-<i>.mp4`` or ``…-step-<i>.mp4``.
        video_aspect_ratio: Width and height that the grid's proportions come close to.
        record_first_only: Show the first environment only.
        episode_trigger: Tells by its number whether an episode starts a video. Without any
            trigger: the cubes below 1000, then every thousandth.
        step_trigger: Tells by its number, counted over all episodes, whether a step starts one.
        video_length: Frames per video, across episodes; 0 for whole episodes.
        name_prefix: How the files' names begin.
        fps: Frames per second; by default the environment's ``render_fps``, or 30.
        disable_logger: Whether the progress of writing is not reported.
        gc_trigger: Tells by the episode's number whether to collect garbage after a video.

    Raises:
        DependencyNotInstalled: MoviePy is not installed.
        ValueError: The render mode gives no images.
    """

    state_fields: ClassVar[tuple[str, ...]] = (
        "_video_name",
        "episode_id",
        "frame_cols",
        "frame_rows",
        "has_autoreset",
        "recorded_frames",
        "recording",
        "step_id",
    )

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Any],
        video_folder: str,
        video_aspect_ratio: tuple[int, int] = (1, 1),
        record_first_only: bool = False,
        episode_trigger: Trigger | None = None,
        step_trigger: Trigger | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: int | None = None,
        disable_logger: bool = True,
        gc_trigger: Trigger | None = _always,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            video_folder=video_folder,
            video_aspect_ratio=video_aspect_ratio,
            record_first_only=record_first_only,
            episode_trigger=episode_trigger,
            step_trigger=step_trigger,
            video_length=video_length,
            name_prefix=name_prefix,
            fps=fps,
            disable_logger=disable_logger,
            gc_trigger=gc_trigger,
        )
        super().__init__(env)
        if env.render_mode in (None, "human", "ansi"):
            raise ValueError(
                f"Render mode is {env.render_mode}, which is incompatible with RecordVideo. Build "
                "the environments with a render_mode that returns images, such as rgb_array."
            )
        check_installed("moviepy", extra="video")
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.autoreset_mode = _autoreset_mode(env)
        self.episode_trigger = episode_trigger
        self.step_trigger = step_trigger
        self.gc_trigger = gc_trigger
        self.disable_logger = disable_logger
        self.record_first_only = record_first_only
        self.video_aspect_ratio = video_aspect_ratio
        self.name_prefix = name_prefix
        self.frames_per_sec = self.metadata.get("render_fps", 30) if fps is None else fps
        self.video_length = video_length if video_length != 0 else float("inf")
        self.video_folder = _prepared_folder(video_folder)

        self.frame_cols = self.frame_rows = -1
        self.has_autoreset = False
        self.step_id = self.episode_id = -1
        self.recording = False
        self._video_name: str | None = None
        self.recorded_frames: list[_Frame] = []
        # Given its attributes, not the wrapper itself, which the reference would keep alive.
        weakref.finalize(self, _warn_of_lost_frames, vars(self))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; an episode begins if the first environment is among those reset."""
        if options is None or "reset_mask" not in options or options["reset_mask"][0]:
            self._begin_episode()
        result = self.env.reset(seed=seed, options=options)
        self._record()
        self.has_autoreset = False
        return result

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step; an episode begins if the first environment was reset by itself."""
        result = self.env.step(actions)
        self.step_id += 1
        ended = bool(result[2][0] or result[3][0])
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            ended, self.has_autoreset = self.has_autoreset, ended
        if ended and self.autoreset_mode is not AutoresetMode.DISABLED:
            self._begin_episode()
        if self.step_trigger and self.step_trigger(self.step_id):
            self.start_recording(f"{self.name_prefix}-step-{self.step_id}")
        self._record()
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the environments and write the video being recorded."""
        try:
            super().close(**kwargs)
        finally:
            if self.recording:
                self.stop_recording()

    def start_recording(self, video_name: str) -> None:
        """Start a video; one being recorded is written first."""
        if self.recording:
            self.stop_recording()
        self.recording = True
        self._video_name = video_name

    def stop_recording(self) -> None:
        """Write the video being recorded.

        Raises:
            Error: None is being recorded.
        """
        if not self.recording:
            raise Error(
                "stop_recording was called, but no recording was started: call start_recording."
            )
        frames, name = self.recorded_frames, self._video_name
        self.recorded_frames = []
        self.recording = False
        self._video_name = None
        if frames:
            path = Path(self.video_folder) / f"{name}.mp4"
            report = None if self.disable_logger else "bar"
            write_video(frames, path, fps=self.frames_per_sec, logger=report)
        else:
            logger.warn("Ignored saving a video as there were zero frames to save.")
        if self.gc_trigger and self.gc_trigger(self.episode_id):
            gc.collect()

    def _begin_episode(self) -> None:
        self.episode_id += 1
        if self.recording and self.video_length == float("inf"):
            self.stop_recording()
        if self.episode_trigger and self.episode_trigger(self.episode_id):
            self.start_recording(f"{self.name_prefix}-episode-{self.episode_id}")

    def _record(self) -> None:
        if not self.recording:
            return
        self._capture_frame()
        if len(self.recorded_frames) > self.video_length:
            self.stop_recording()

    def _capture_frame(self) -> None:
        frames: Any = self.env.render()
        if frames is None or len(frames) != self.num_envs:
            raise TypeError(
                f"Expected `env.render()` to return {self.num_envs} frames, one per environment, "
                f"got {type(frames)}."
            )
        if self.record_first_only:
            frames = frames[:1]
        if self.frame_rows == -1:
            width, height = self.video_aspect_ratio
            self.frame_rows, self.frame_cols = _grid(frames, width / height)
        self.recorded_frames.append(_tiled(frames, self.frame_rows, self.frame_cols))


def _warn_of_lost_frames(attributes: dict[str, Any]) -> None:
    if attributes["recorded_frames"]:
        logger.warn("Unable to save last video! Did you call close()?")


def _autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    mode: AutoresetMode | None = env.metadata.get("autoreset_mode")
    if mode is None:
        logger.warn(
            f"The metadata of {env} don't specify its autoreset mode ({env.metadata!r}); "
            "RecordVideo assumes next step.",
            stacklevel=3,
        )
        return AutoresetMode.NEXT_STEP
    if mode is AutoresetMode.SAME_STEP:
        logger.warn(
            "The vector environment's autoreset mode is same-step: recorded episodes will not "
            "contain their last frame.",
            stacklevel=3,
        )
    return mode


def _prepared_folder(folder: str) -> str:
    path = Path(folder).absolute()
    if path.is_dir():
        logger.warn(
            f"Overwriting existing videos at {path} folder (specify a different `video_folder` "
            "for the `RecordVideo` wrapper if this is not desired)",
            stacklevel=3,
        )
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def _grid(frames: Sequence[_Frame], aspect_ratio: float) -> tuple[int, int]:
    """Return the rows and columns, no cell empty, that come closest to the aspect ratio."""
    count, (height, width) = len(frames), frames[0].shape[:2]
    choices = [rows for rows in range(1, isqrt(count) + 1) if count % rows == 0]
    rows = min(
        choices, key=lambda rows: abs(count // rows * width / (rows * height) - aspect_ratio)
    )
    return rows, count // rows


def _tiled(frames: Sequence[_Frame], rows: int, columns: int) -> _Frame:
    stacked = np.array(frames)
    _, height, width, channels = stacked.shape
    grid = stacked.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)
