"""Writing of video files, and what both ``RecordVideo`` wrappers share."""

from __future__ import annotations

import gc
import math
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ludus import logger
from ludus.errors import Error
from ludus.optional import check_installed, require

__all__ = ["Trigger", "VideoRecording", "always", "capped_cubic_video_schedule", "write_video"]


def capped_cubic_video_schedule(episode_id: int) -> bool:
    """Return whether an episode is recorded: 0, 1, 8, 27, …, 729, and then every thousandth."""
    if episode_id >= 1000:
        return episode_id % 1000 == 0
    return bool(round(episode_id ** (1 / 3)) ** 3 == episode_id)


def write_video(
    frames: Sequence[npt.NDArray[Any]], path: Path, *, fps: float, logger: str | None = None
) -> None:
    """Write the frames to ``path`` atomically: the file appears only when it is complete.

    Args:
        frames: RGB arrays of one shape.
        path: The file; an existing one is replaced.
        fps: Frames per second.
        logger: MoviePy's progress report: ``"bar"``, or ``None`` for silence.

    Raises:
        DependencyNotInstalled: MoviePy is not installed.
    """
    clips = require("moviepy.video.io.ImageSequenceClip", extra="video")
    # MoviePy needs a path whose suffix names the format, so ludus.atomic cannot be used.
    unfinished = path.with_name(f".{path.stem}.unfinished{path.suffix}")
    try:
        clip = clips.ImageSequenceClip(list(frames), fps=fps)
        clip.write_videofile(str(unfinished), logger=logger)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


Trigger = Callable[[int], bool]


def always(_: int) -> bool:
    """Trigger that selects every episode."""
    return True


class VideoRecording:
    """Mix-in of both ``RecordVideo`` wrappers, which implement :meth:`_capture_frame`.

    A video starts at an episode or a step chosen by a trigger, and ends with the episode, after
    ``video_length`` frames, when the next one starts, or at ``close``, whichever is first.
    """

    metadata: dict[str, Any]

    def _prepare_recording(
        self,
        render_mode: str | None,
        video_folder: str,
        *,
        episode_trigger: Trigger | None,
        step_trigger: Trigger | None,
        video_length: int,
        name_prefix: str,
        fps: int | None,
        disable_logger: bool,
        gc_trigger: Trigger | None,
    ) -> None:
        """Check the render mode and initialise the recording; arguments as for ``RecordVideo``.

        Raises:
            DependencyNotInstalled: MoviePy is not installed.
            ValueError: The render mode gives no images.
        """
        if render_mode in (None, "human", "ansi"):
            raise ValueError(
                f"The render mode {render_mode!r} is incompatible with RecordVideo, which needs "
                "images. Choose one such as rgb_array when building the environment."
            )
        check_installed("moviepy", extra="video")
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.episode_trigger = episode_trigger
        self.step_trigger = step_trigger
        self.gc_trigger = gc_trigger
        self.disable_logger = disable_logger
        self.name_prefix = name_prefix
        self.frames_per_sec = self.metadata.get("render_fps", 30) if fps is None else fps
        self.video_length = video_length if video_length != 0 else math.inf
        self.video_folder = _prepared_folder(video_folder)

        self.episode_id = -1
        self.step_id = -1
        self.recording = False
        self.recorded_frames: list[Any] = []
        self._video_name: str | None = None
        # Passes the attributes, because a reference to the wrapper would keep it alive.
        weakref.finalize(self, _warn_of_lost_frames, vars(self))

    def start_recording(self, video_name: str) -> None:
        """Start a video; a running recording is written first."""
        if self.recording:
            self.stop_recording()
        self.recording = True
        self._video_name = video_name

    def stop_recording(self) -> None:
        """Stop recording and write the video.

        Raises:
            Error: No recording was started.
        """
        if not self.recording:
            raise Error("There is no video to stop: no recording was started (start_recording).")
        frames, name = self.recorded_frames, self._video_name
        self.recorded_frames = []
        self.recording = False
        self._video_name = None
        if frames:
            path = Path(self.video_folder) / f"{name}.mp4"
            report = None if self.disable_logger else "bar"
            write_video(frames, path, fps=self.frames_per_sec, logger=report)
        else:
            logger.warn(f"{name} is not saved: the video has zero frames.")
        if self.gc_trigger and self.gc_trigger(self.episode_id):
            gc.collect()

    def _begin_episode(self) -> None:
        """Count an episode; write the previous one's video, and start a new one if triggered."""
        self.episode_id += 1
        if self.recording and math.isinf(self.video_length):
            self.stop_recording()
        if self.episode_trigger and self.episode_trigger(self.episode_id):
            self.start_recording(f"{self.name_prefix}-episode-{self.episode_id}")

    def _begin_step(self) -> None:
        """Count a step, and start a video if triggered."""
        self.step_id += 1
        if self.step_trigger and self.step_trigger(self.step_id):
            self.start_recording(f"{self.name_prefix}-step-{self.step_id}")

    def _record(self) -> None:
        """Capture a frame if recording; write the video when it has reached its length."""
        if self.recording:
            self._capture_frame()
        if self.recording and len(self.recorded_frames) > self.video_length:
            self.stop_recording()

    def _capture_frame(self) -> None:
        raise NotImplementedError


def _warn_of_lost_frames(attributes: dict[str, Any]) -> None:
    lost = len(attributes["recorded_frames"])
    if lost:
        logger.warn(f"Unable to save last video, {lost} frames are lost. Did you call close()?")


def _prepared_folder(folder: str) -> str:
    path = Path(os.path.abspath(folder))  # noqa: PTH100 - Path.absolute() would keep ".."
    if path.is_dir():
        logger.warn(
            f"Overwriting existing videos of the same names: there is a folder {path} already. "
            "Choose another `video_folder` to keep them."
        )
    path.mkdir(parents=True, exist_ok=True)
    return str(path)
