"""Wrappers that show, change or record rendered frames."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus import logger
from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.errors import InvalidProbability
from ludus.wrappers.mixins import Window
from ludus.wrappers.video import Trigger, VideoRecording, always

__all__ = [
    "AddWhiteNoise",
    "HumanRendering",
    "ObstructView",
    "RecordVideo",
    "RenderCollection",
    "white_noise",
]

_LUMINANCE = np.array([0.2989, 0.5870, 0.1140])


class AddWhiteNoise(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Replace each rendered pixel by noise with the given probability.

    With :class:`AddRenderObservation` around it, the noise appears in the observations. It is drawn
    from the environment's ``np_random``, so rendering advances the random stream.

    Raises:
        InvalidProbability: The probability is not in [0, 1).
    """

    state_fields = ()

    def __init__(
        self,
        env: Env[ObsType, ActType],
        probability_of_noise_per_pixel: float,
        is_noise_grayscale: bool = False,
    ) -> None:
        if not 0 <= probability_of_noise_per_pixel < 1:
            raise InvalidProbability(
                "`probability_of_noise_per_pixel` must lie in the interval [0,1), got "
                f"{probability_of_noise_per_pixel}."
            )
        RecordConstructorArgs.__init__(
            self,
            probability_of_noise_per_pixel=probability_of_noise_per_pixel,
            is_noise_grayscale=is_noise_grayscale,
        )
        super().__init__(env)
        self.probability_of_noise_per_pixel = probability_of_noise_per_pixel
        self.is_noise_grayscale = is_noise_grayscale

    def render(self) -> npt.NDArray[Any]:
        """Return the frame with noise."""
        frame = self.env.render()
        rng = self.np_random
        noise = white_noise(rng, frame.shape, grayscale=self.is_noise_grayscale)
        noisy = rng.random(frame.shape[:2]) < self.probability_of_noise_per_pixel
        return np.where(noisy[..., None], noise, frame)


def white_noise(
    rng: np.random.Generator, shape: tuple[int, ...], *, grayscale: bool
) -> npt.NDArray[Any]:
    """Draw a frame of independent random pixels; grayscale ones have three equal channels."""
    if not grayscale:
        return rng.integers(0, 255, size=shape, dtype=np.uint8)
    parts = rng.integers((0, 0, 0), 255 * _LUMINANCE, size=shape, dtype=np.uint8)
    gray: npt.NDArray[Any] = parts.sum(-1, keepdims=True)
    return gray.repeat(3, -1)


class HumanRendering(  # type: ignore[misc]
    Window, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Show the frame of every reset and step in a window, at the environment's ``render_fps``.

    With a ``_list`` render mode this takes all frames that the inner ``render`` has collected.

    Raises:
        ValueError: The environment renders no arrays, or its metadata lack ``render_fps``.
    """

    state_fields = ()

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.screen_size: tuple[int, int] | None = None
        self._prepare_window(env)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and show the frame."""
        result = self.env.step(action)
        self._render_frame()
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and show the frame."""
        result = self.env.reset(seed=seed, options=options)
        self._render_frame()
        return result

    def render(self) -> None:
        """Do nothing: ``reset`` and ``step`` have shown the frame."""

    def _render_frame(self) -> None:
        frame = self.env.render()
        if isinstance(frame, list):
            frame = frame[-1]
        if not isinstance(frame, np.ndarray):
            raise TypeError(
                f"HumanRendering needs a numpy array from env.render(), got {type(frame)}."
            )
        # Surfaces are indexed by column first.
        pixels = _rgb(frame).swapaxes(0, 1)
        size = pixels.shape[:2]
        if self.screen_size is None:
            self.screen_size = size
        if self.screen_size != size:
            raise ValueError(
                f"The frame's size has changed from {self.screen_size} to {size}, but a window "
                "has one size. Close the environment in between."
            )
        self._show(pixels)

    def close(self) -> None:
        """Close the window and the environment."""
        self._close_window()
        self.screen_size = None
        self.env.close()


def _rgb(frame: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return colours unchanged, depths as grays from the nearest to the farthest."""
    if frame.ndim == 3:
        return frame
    depth = frame - frame.min()
    gray = (255 * depth / max(depth.max(), 1e-12)).astype(np.uint8)
    return np.repeat(gray[..., None], 3, axis=-1)


class ObstructView(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Cover rendered frames with square patches of noise at random places.

    As many patches are placed as would cover ``obstructed_pixels_ratio`` of the frame if none
    overlapped. They are drawn from the environment's ``np_random``, so rendering advances the
    random stream.

    Raises:
        ValueError: The ratio is not in [0, 1), or the width is below 1.
    """

    state_fields = ()

    def __init__(
        self,
        env: Env[ObsType, ActType],
        obstructed_pixels_ratio: float,
        obstruction_width: int,
        is_noise_grayscale: bool = False,
    ) -> None:
        if not 0 <= obstructed_pixels_ratio < 1:
            raise ValueError(
                "`obstructed_pixels_ratio` must lie in the interval [0,1), got "
                f"{obstructed_pixels_ratio}."
            )
        if obstruction_width < 1:
            raise ValueError(
                f"`obstruction_width` must be at least 1 pixel, got {obstruction_width}."
            )
        RecordConstructorArgs.__init__(
            self,
            obstructed_pixels_ratio=obstructed_pixels_ratio,
            obstruction_width=obstruction_width,
            is_noise_grayscale=is_noise_grayscale,
        )
        super().__init__(env)
        self.obstruction_centers_ratio = obstructed_pixels_ratio / obstruction_width**2
        self.obstruction_width = obstruction_width
        self.is_noise_grayscale = is_noise_grayscale

    def render(self) -> npt.NDArray[Any]:
        """Return the frame with patches."""
        frame = self.env.render()
        height, width = frame.shape[:2]
        rng = self.np_random
        patches = int(height * width * self.obstruction_centers_ratio)
        covered = self._covered(rng.integers(0, height * width, patches), height, width)
        noise = white_noise(rng, frame.shape, grayscale=self.is_noise_grayscale)
        return np.where(covered[..., None], noise, frame)

    def _covered(
        self, centers: npt.NDArray[np.int64], height: int, width: int
    ) -> npt.NDArray[np.bool_]:
        """Return the mask of covered pixels, from cumulative sums over the patches' corners."""
        before = self.obstruction_width // 2
        after = self.obstruction_width - before
        rows, columns = np.divmod(centers, width)
        top, bottom = np.maximum(rows - before, 0), np.minimum(rows + after, height)
        left, right = np.maximum(columns - before, 0), np.minimum(columns + after, width)
        corners = np.zeros((height + 1, width + 1), dtype=np.int64)
        np.add.at(corners, (top, left), 1)
        np.add.at(corners, (bottom, left), -1)
        np.add.at(corners, (top, right), -1)
        np.add.at(corners, (bottom, right), 1)
        depth: npt.NDArray[np.int64] = corners.cumsum(0).cumsum(1)
        return depth[:height, :width] > 0


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
        options = {k: v for k, v in locals().items() if k not in ("self", "env")}
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


class RenderCollection(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Render after every reset and step; ``render`` returns the list of frames.

    Args:
        env: The environment; its render mode ``x`` becomes ``x_list``.
        pop_frames: Whether ``render`` empties the list.
        reset_clean: Whether ``reset`` empties the list.

    Raises:
        ValueError: The environment has no render mode, or one that is a list already.
    """

    state_fields = ("frame_list",)

    def __init__(
        self, env: Env[ObsType, ActType], pop_frames: bool = True, reset_clean: bool = True
    ) -> None:
        RecordConstructorArgs.__init__(self, pop_frames=pop_frames, reset_clean=reset_clean)
        super().__init__(env)
        if env.render_mode is None:
            raise ValueError(
                "There are no frames to collect: env.render_mode is None. Build the environment "
                "with one, for example render_mode='rgb_array'."
            )
        if env.render_mode.endswith("_list"):
            raise ValueError(
                f"env.render_mode is '{env.render_mode}': frames are collected already, in a "
                "mode that ends with '_list'."
            )
        self.frame_list: list[Any] = []
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        self.metadata = deepcopy(env.metadata)
        modes = self.metadata["render_modes"]
        if self.render_mode not in modes:
            self.metadata["render_modes"] = [*modes, self.render_mode]

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """The inner render mode with ``_list``."""
        return f"{self.env.render_mode}_list"

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and keep a frame."""
        result = self.env.step(action)
        self.frame_list.append(self.env.render())
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and keep a frame."""
        result = self.env.reset(seed=seed, options=options)
        if self.reset_clean:
            self.frame_list = []
        self.frame_list.append(self.env.render())
        return result

    def render(self) -> list[Any]:
        """Return the frames kept so far."""
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames
