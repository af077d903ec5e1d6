"""Records videos of episodes."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np

from ludus import logger
from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.wrappers.video_recording import Trigger, VideoRecording, always

__all__ = ["RecordVideo"]


class RecordVideo(
    VideoRecording, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Write videos of selected episodes, from the frames that the environment renders.

    A video starts at an episode or a step chosen by a trigger, and ends with the episode, after
    ``video_length`` frames, when the next one starts, or at ``close``, whichever is first.

    Args:
        env: The environment; it renders images.
        video_folder: Where the files go: ``<name_prefix>-episode-<i>.mp4`` or ``…-step-<i>.mp4``.
        episode_trigger: From an episode's index to whether it starts a video. Without any
            trigger: the cubes below 1000, then every thousandth episode.
        step_trigger: From a step's index, counted over all episodes, to whether it starts a video.
        video_length: Frames per video, across episodes; 0 for whole episodes.
        name_prefix: Prefix of the file names.
        fps: Frames per second; by default the environment's ``render_fps``, or 30.
        disable_logger: Do not report the progress of writing.
        gc_trigger: From an episode's index to whether to collect garbage after its video.

    Raises:
        ValueError: The render mode gives no images.
        DependencyNotInstalled: MoviePy is not installed.
    """

    state_fields = (
        "episode_id",
        "step_id",
        "recording",
        "_video_name",
        "render_history",
        "recorded_frames",
    )

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
        gc_trigger: Trigger | None = always,
    ) -> None:
        options: dict[str, Any] = {
            "video_folder": video_folder,
            "episode_trigger": episode_trigger,
            "step_trigger": step_trigger,
            "video_length": video_length,
            "name_prefix": name_prefix,
            "fps": fps,
            "disable_logger": disable_logger,
            "gc_trigger": gc_trigger,
        }
        RecordConstructorArgs.__init__(self, **options)
        Wrapper.__init__(self, env)
        self._prepare_recording(env.render_mode, **options)
        self.render_history: list[Any] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; write the previous episode's video, and start a new one if triggered."""
        result = self.env.reset(seed=seed, options=options)
        self._begin_episode()
        self._record()
        return result

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; start a video if triggered."""
        result = self.env.step(action)
        self._begin_step()
        self._record()
        return result

    def render(self) -> Any:
        """Render; a list includes the frames that were taken for the recording."""
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

    def _capture_frame(self) -> None:
        frame = self.env.render()
        if isinstance(frame, list):
            if not frame:
                logger.warn(
                    "A frame cannot be captured for the video: an earlier call of env.render() "
                    "has taken it."
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
