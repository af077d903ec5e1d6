"""File formats of recorded videos: MP4 of images, asciicast of text."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from ludus.classic.error import Error, InvalidFrame
from ludus.classic.wrappers.monitoring.stats_recorder import write_json
from ludus.wrappers.video import write_video

__all__ = ["ImageVideo", "TextVideo"]

_CLEAR_SCREEN = "\x1b[2J\x1b[1;1H"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class ImageVideo:
    """Collects images and writes an MP4 file."""

    suffix = ".mp4"
    mode = "rgb_array"
    content_type = "video/mp4"

    def __init__(self, path: Path, fps: float) -> None:
        self.path = path
        self.fps = fps
        self.frames: list[np.ndarray[Any, Any]] = []

    def capture(self, frame: Any) -> None:
        """Add a frame.

        Raises:
            InvalidFrame: The frame is not a uint8 array of shape (height, width, 3 or 4), or its
                shape differs from the first frame's.
        """
        if not isinstance(frame, np.ndarray):
            raise InvalidFrame(f"A frame must be a np.ndarray, got {type(frame)} (wrong type).")
        if frame.ndim != 3 or frame.shape[2] not in (3, 4):
            raise InvalidFrame(
                f"A frame must have shape (height, width, 3) or (height, width, 4), RGB or RGBA, "
                f"got {frame.shape}."
            )
        if frame.dtype != np.uint8:
            raise InvalidFrame(f"A frame must have the data type uint8, got {frame.dtype}.")
        if self.frames and frame.shape != self.frames[0].shape:
            raise InvalidFrame(
                f"All frames of a video must have the same shape: the first has "
                f"{self.frames[0].shape}, this one {frame.shape}."
            )
        self.frames.append(frame.copy())

    def close(self) -> None:
        """Write the file.

        Raises:
            DependencyNotInstalled: MoviePy is not installed.
        """
        write_video([frame[:, :, :3] for frame in self.frames], self.path, fps=self.fps)

    @property
    def version(self) -> dict[str, Any]:
        """What wrote the file, for the metadata beside it."""
        return {"backend": "moviepy", "fps": self.fps}


class TextVideo:
    """Collects text frames and writes an asciicast v1 file."""

    suffix = ".json"
    mode = "ansi"
    content_type = "application/vnd.openai.ansivid"
    seconds_per_frame = 0.5

    def __init__(self, path: Path, fps: float) -> None:
        self.path = path
        self.frames: list[str] = []

    def capture(self, frame: Any) -> None:
        """Add a frame.

        Raises:
            InvalidFrame: It is neither a string nor a ``StringIO``.
            Error: It does not end in a newline, or holds a carriage return.
        """
        text = frame.getvalue() if isinstance(frame, StringIO) else frame
        if not isinstance(text, str):
            raise InvalidFrame(
                f"Wrong type {type(frame)} for {frame!r}: a text frame must be a str or StringIO."
            )
        if not text.endswith("\n"):
            raise Error(f"A text frame must end with a newline: {text!r}")
        if "\r" in text:
            raise Error(f"A text frame must not contain carriage returns: {text!r}")
        self.frames.append(text)

    def close(self) -> None:
        """Write the file."""
        lines = [_ESCAPE.sub("", line) for frame in self.frames for line in frame.split("\n")]
        moments = [
            [self.seconds_per_frame, _CLEAR_SCREEN + frame.replace("\n", "\r\n")]
            for frame in self.frames
        ]
        recording = {
            "version": 1,
            "width": max(map(len, lines)),
            "height": max(frame.count("\n") for frame in self.frames),
            "duration": len(moments) * self.seconds_per_frame,
            "command": "-",
            "title": "episode",
            "env": {},
            "stdout": moments,
        }
        write_json(self.path, recording)

    @property
    def version(self) -> dict[str, Any]:
        """What wrote the file, for the metadata beside it."""
        return {"backend": "TextVideo", "version": 1}
