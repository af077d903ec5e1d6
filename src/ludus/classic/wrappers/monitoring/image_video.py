"""Videos of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ludus.classic.error import InvalidFrame
from ludus.wrappers.video import write_video

__all__ = ["ImageVideo"]


class ImageVideo:
    """Collects images and writes them as an MP4 file."""

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
            InvalidFrame: It is no array of shape (height, width, 3 or 4) and dtype uint8, or not
                of the first frame's shape.
        """
        if not isinstance(frame, np.ndarray):
            raise InvalidFrame(f"A frame is a np.ndarray, got {type(frame)} (wrong type).")
        if frame.ndim != 3 or frame.shape[2] not in (3, 4):
            raise InvalidFrame(
                f"A frame has shape (height, width, 3) or (height, width, 4), RGB or RGBA, got "
                f"{frame.shape}."
            )
        if frame.dtype != np.uint8:
            raise InvalidFrame(f"A frame has data type uint8, values 0 to 255, got {frame.dtype}.")
        if self.frames and frame.shape != self.frames[0].shape:
            raise InvalidFrame(
                f"All frames of a video have one shape: the first is {self.frames[0].shape}, this "
                f"one {frame.shape}."
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
