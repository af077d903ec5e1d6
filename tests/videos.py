"""Videos, read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def opened_video(path: Path) -> Iterator[Any]:
    """Open a video as a clip of moviepy, and close all of it.

    moviepy itself leaves the pipes of an ffmpeg open that has ended before the clip is closed.
    """
    from moviepy import VideoFileClip

    with VideoFileClip(str(path)) as clip:
        yield clip
        process = clip.reader.proc
        if process is not None:
            process.stdout.close()
            process.stderr.close()
