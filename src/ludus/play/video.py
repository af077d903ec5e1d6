"""Writing the frames of an episode to video files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ludus import logger
from ludus.optional import require
from ludus.wrappers.video import capped_cubic_video_schedule

__all__ = ["capped_cubic_video_schedule", "save_video"]


def save_video(
    frames: Sequence[Any],
    video_folder: str,
    episode_trigger: Callable[[int], bool] | None = None,
    step_trigger: Callable[[int], bool] | None = None,
    video_length: int | None = None,
    name_prefix: str = "rl-video",
    episode_index: int = 0,
    step_starting_index: int = 0,
    save_logger: str | None = None,
    **kwargs: Any,
) -> None:
    """Write an episode's frames to ``{name_prefix}-episode-{n}.mp4`` or ``-step-{n}.mp4``.

    Without a trigger, episodes are chosen by :func:`capped_cubic_video_schedule`.

    Args:
        frames: A list of the frames of one episode, the first from its reset.
        video_folder: Where the files go; made if missing.
        episode_trigger: Tells whether to write the episode with this index.
        step_trigger: Tells whether to write a file that begins at this step.
        video_length: Frames per file; all if ``None``.
        name_prefix: Beginning of the files' names.
        episode_index: The episode's index.
        step_starting_index: The index of the episode's first step.
        save_logger: ``"bar"`` shows progress.
        **kwargs: For moviepy's ``ImageSequenceClip``; ``fps`` or ``durations`` is needed.

    Raises:
        DependencyNotInstalled: moviepy is missing.
    """
    clip_class = require("moviepy.video.io.ImageSequenceClip", extra="video").ImageSequenceClip
    if not isinstance(frames, list):
        logger.error(f"Expected a list of frames, got a {type(frames)} instead.")
    if episode_trigger is None and step_trigger is None:
        episode_trigger = capped_cubic_video_schedule
    folder = Path(video_folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)

    starts: list[tuple[str, int]] = []
    if episode_trigger is not None and episode_trigger(episode_index):
        starts.append((f"episode-{episode_index}", 0))
    if step_trigger is not None:
        # A step's first frame is the one after it; frame 0 comes from reset.
        starts += [
            (f"step-{step}", frame)
            for frame, step in enumerate(
                range(step_starting_index, step_starting_index + len(frames) - 1), start=1
            )
            if step_trigger(step)
        ]
    for name, first in starts:
        stop = None if video_length is None else first + video_length
        clip = clip_class(frames[first:stop], **kwargs)
        clip.write_videofile(str(folder / f"{name_prefix}-{name}.mp4"), logger=save_logger)
