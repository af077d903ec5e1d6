"""Episodes on film."""

from __future__ import annotations

import gc
import math
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from ludus import logger
from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, State, Wrapper
from ludus.core.state import copy_plain
from ludus.errors import Error
from ludus.wrappers.dependencies import check_installed
from ludus.wrappers.saved_fields import take_fields
from ludus.wrappers.video import capped_cubic_video_schedule, write_video

__all__ = ["RecordVideo"]

Trigger = Callable[[int], bool]


class _Reel:
    """The frames not yet written; outlives the wrapper to report them lost."""

    def __init__(self) -> None:
        self.frames: list[Any] = []

    def warn_if_lost(self) -> None:
        if self.frames:
            logger.warn(
                f"Unable to save the last video, {len(self.frames)} frames are lost. Did you call "
                "close()?"
            )


def _always(_: int) -> bool:
    return True


class RecordVideo(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Write videos of chosen episodes, from the frames the environment renders.

    A video starts at an episode or a step chosen by a trigger, and ends with the episode, after
    ``video_length`` frames, when the next one starts, or at ``close``, whichever is first.

    Args:
        env: The environment; it renders images.
        video_folder: Where the files go: ``<name_prefix>-episode-<i>.mp4`` or ``…-step-<i>.mp4``.
        episode_trigger: Tells by its number whether an episode starts a video. Without any
            trigger: the cubes below 1000, then every thousandth.
        step_trigger: Tells by its number, counted over all episodes, whether a step starts one.
        video_length: Frames per video, across episodes; 0 for whole episodes.
        name_prefix: How the files' names begin.
        fps: Frames per second; by default the environment's ``render_fps``, or 30.
        disable_logger: Whether the progress of writing is not reported.
        gc_trigger: Tells by the episode's number whether to collect garbage after a video.

    Raises:
        ValueError: The render mode gives no images.
        DependencyNotInstalled: MoviePy is not installed.
    """

    state_fields = ("episode_id", "step_id", "recording", "_video_name", "render_history")

    def __init__(
        self,
        env: Env[ObsType, ActType],
        video_folder: str,
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
                f"RecordVideo needs images; the render mode {env.render_mode!r} is incompatible "
                "with that. Build the environment with one such as rgb_array."
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
        self.render_history: list[Any] = []
        self._video_name: str | None = None
        self._reel = _Reel()
        weakref.finalize(self, self._reel.warn_if_lost)

    @property
    def recorded_frames(self) -> list[Any]:
        """The frames of the video being recorded."""
        return self._reel.frames

    @recorded_frames.setter
    def recorded_frames(self, frames: list[Any]) -> None:
        self._reel.frames = frames

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; end the video of the episode before and start a new one if it is chosen."""
        result = self.env.reset(seed=seed, options=options)
        self.episode_id += 1
        if self.recording and math.isinf(self.video_length):
            self.stop_recording()
        self._record("episode", self.episode_id, self.episode_trigger)
        return result

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; start a video if the step is chosen."""
        result = self.env.step(action)
        self.step_id += 1
        self._record("step", self.step_id, self.step_trigger)
        return result

    def render(self) -> Any:
        """Render; a list includes the frames that recording took from it."""
        frames = self.env.render()
        if self.recording and isinstance(frames, list):
            self.recorded_frames += frames
        if self.render_history:
            frames = self.render_history + frames
            self.render_history = []
        return frames

    def close(self) -> None:
        """Close the environment and write the video being recorded."""
        try:
            self.env.close()
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
            raise Error("There is no video to stop: no recording was started (start_recording).")
        if self.recorded_frames:
            path = Path(self.video_folder) / f"{self._video_name}.mp4"
            report = None if self.disable_logger else "bar"
            write_video(self.recorded_frames, path, fps=self.frames_per_sec, logger=report)
        else:
            logger.warn(f"{self._video_name} is not saved: the video has zero frames.")
        self.recorded_frames = []
        self.recording = False
        self._video_name = None
        if self.gc_trigger and self.gc_trigger(self.episode_id):
            gc.collect()

    def _record(self, kind: str, number: int, trigger: Trigger | None) -> None:
        if trigger is not None and trigger(number):
            self.start_recording(f"{self.name_prefix}-{kind}-{number}")
        if self.recording:
            self._capture_frame()
        if self.recording and len(self.recorded_frames) > self.video_length:
            self.stop_recording()

    def _capture_frame(self) -> None:
        frame = self.env.render()
        if isinstance(frame, list):
            if not frame:
                logger.warn(
                    "A frame cannot be captured for the video: somebody has called env.render() "
                    "and taken it."
                )
                return
            self.render_history += frame
            frame = frame[-1]
        if isinstance(frame, np.ndarray):
            self.recorded_frames.append(frame)
        else:
            self.stop_recording()
            logger.warn(
                "Recording stopped: a frame must be a numpy array, but env.render() returned a "
                f"{type(frame)}."
            )

    def _save_state(self) -> State:
        return {**super()._save_state(), "recorded_frames": copy_plain(self.recorded_frames)}

    def _load_state(self, fields: State) -> None:
        (self.recorded_frames,), rest = take_fields(self, fields, "recorded_frames")
        super()._load_state(rest)


def _prepared_folder(folder: str) -> str:
    path = Path(os.path.normpath(Path(folder).absolute()))
    if path.is_dir():
        logger.warn(
            f"Overwriting existing videos of the same names: there is a folder {path} already. "
            "Choose another `video_folder` to keep them."
        )
    path.mkdir(parents=True, exist_ok=True)
    return str(path)
