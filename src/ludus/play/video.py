"""Video files of an episode's frames."""

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

    Without a trigger, :func:`capped_cubic_video_schedule` selects the episodes.

    Args:
        frames: A list of the frames of one episode, the first one from its reset.
        video_folder: Folder of the files; it is created.
        episode_trigger: Returns whether to write the episode of an index.
        step_trigger: Returns whether to write a file that begins at a step.
        video_length: Frames per file; ``None`` for all.
        name_prefix: Prefix of the file names.
        episode_index: Index of the episode.
        step_starting_index: Index of the episode's first step.
        save_logger: ``"bar"`` shows a progress bar.
        **kwargs: Arguments of moviepy's ``ImageSequenceClip``; ``fps`` or ``durations`` is needed.

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
        # Frame 0 is from the reset, so the first frame of step n is n + 1.
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
