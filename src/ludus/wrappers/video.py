"""Writes frames to video files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ludus.optional import require

__all__ = ["capped_cubic_video_schedule", "write_video"]


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
