"""Wrappers that show or record the frames of all environments of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ludus import logger
from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ArrayType, ObsType
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.optional import require
from ludus.wrappers.mixins import Window
from ludus.wrappers.video import Trigger, VideoRecording, always

__all__ = ["HumanRendering", "RecordVideo"]

_Pixels = npt.NDArray[np.uint8]


class HumanRendering(  # type: ignore[misc]
    Window, VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Show the frames of every reset and step in a window, at the environment's ``render_fps``.

    Args:
        env: A vector environment that renders RGB arrays.
        screen_size: Width and height of the window; by default those of one frame. The frames
            share it as a grid.

    Raises:
        ValueError: The environment renders no arrays, or its metadata lack ``render_fps``.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        screen_size: tuple[int, int] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, screen_size=screen_size)
        super().__init__(env)
        self.screen_size = screen_size
        self.scaled_subenv_size: tuple[int, int] | None = None
        self.num_rows: int | None = None
        self.num_cols: int | None = None
        self._prepare_window(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and show the frames."""
        result = self.env.reset(seed=seed, options=options)
        self._show(self._picture())
        return result

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step and show the frames."""
        result = self.env.step(actions)
        self._show(self._picture())
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the window and the environments."""
        self._close_window()
        super().close(**kwargs)

    def _picture(self) -> _Pixels:
        """Return all frames scaled into one picture, indexed by column first like a surface."""
        cv2 = require("cv2", extra="images")
        frames = self._last_frames().swapaxes(1, 2)
        size = frames.shape[1:3]
        if self.screen_size is None:
            self.screen_size = size
        if self.scaled_subenv_size is None or self.num_cols is None:
            self.num_rows, self.num_cols = _grid(self.num_envs, size, self.screen_size)
            scale = min(
                self.screen_size[0] / (self.num_cols * size[0]),
                self.screen_size[1] / (self.num_rows * size[1]),
            )
            self.scaled_subenv_size = (int(size[0] * scale), int(size[1] * scale))
        width, height = self.scaled_subenv_size
        picture: _Pixels = np.zeros((*self.screen_size, 3), dtype=np.uint8)
        for i, frame in enumerate(frames):
            row, column = divmod(i, self.num_cols)
            x, y = column * width, row * height
            picture[x : x + width, y : y + height] = cv2.resize(frame, (height, width))
        return picture

    def _last_frames(self) -> _Pixels:
        rendered = self.env.render() or ()
        # A `_list` render mode gives the frames since the last call.
        frames = [frame[-1] if isinstance(frame, list) else frame for frame in rendered]
        if len(frames) != self.num_envs or any(np.ndim(frame) != 3 for frame in frames):
            raise TypeError(
                f"Expected `env.render()` to return {self.num_envs} numpy arrays of shape (height, "
                f"width, 3), actually returned {[np.shape(frame) for frame in frames]}."
            )
        return np.array(frames, dtype=np.uint8)


def _grid(count: int, frame: tuple[int, ...], screen: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns for ``count`` frames, growing along the side with more room."""
    rows = columns = 1
    while rows * columns < count:
        tall, wide = rows * (frame[1] / screen[1]), columns * (frame[0] / screen[0])
        rows, columns = rows + (tall <= wide), columns + (wide <= tall)
    return rows, columns


_Frame = npt.NDArray[Any]


class RecordVideo(
    VideoRecording,
    VectorWrapper[ObsType, ActType, ObsType, ActType, Any],
    RecordConstructorArgs,
):
    """Write videos in which the frames of all environments form a grid.

    Episodes are those of the first environment. A video starts at an episode or a step chosen by
    a trigger, and ends with the episode, after ``video_length`` frames, when the next one starts,
    or at ``close``, whichever is first. Under same-step autoreset it lacks each episode's last
    frame, which is gone when the step returns.

    The other arguments are those of :class:`ludus.wrappers.RecordVideo`.

    Args:
        env: The vector environment; it renders images.
        video_aspect_ratio: Width and height; the grid with the nearest aspect ratio is used.
        record_first_only: Show the first environment only.

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
        gc_trigger: Trigger | None = always,
    ) -> None:
        options = {k: v for k, v in locals().items() if k not in ("self", "env")}
        RecordConstructorArgs.__init__(self, **options)
        VectorWrapper.__init__(self, env)
        self.video_aspect_ratio = options.pop("video_aspect_ratio")
        self.record_first_only = options.pop("record_first_only")
        self._prepare_recording(env.render_mode, **options)
        self.autoreset_mode = _autoreset_mode(env)
        self.frame_cols = self.frame_rows = -1
        self.has_autoreset = False

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
        """Step; an episode begins if the first environment was reset by autoreset."""
        result = self.env.step(actions)
        ended = bool(result[2][0] or result[3][0])
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            ended, self.has_autoreset = self.has_autoreset, ended
        if ended and self.autoreset_mode is not AutoresetMode.DISABLED:
            self._begin_episode()
        self._begin_step()
        self._record()
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the environments and write the video being recorded."""
        try:
            super().close(**kwargs)
        finally:
            if self.recording:
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
            self.frame_rows, self.frame_cols = _tiling(frames, width / height)
        self.recorded_frames.append(_tiled(frames, self.frame_rows, self.frame_cols))


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


def _tiling(frames: Sequence[_Frame], aspect_ratio: float) -> tuple[int, int]:
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
