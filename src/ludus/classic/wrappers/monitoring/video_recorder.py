"""Recorder of one video of an environment, as MP4 of images or asciicast of text."""

from __future__ import annotations

import re
import tempfile
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from ludus.classic import logger
from ludus.classic.error import Error, InvalidFrame
from ludus.classic.wrappers.monitoring.stats_recorder import write_json
from ludus.wrappers.video import write_video

__all__ = ["ImageVideo", "TextVideo", "VideoRecorder"]

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


class VideoRecorder:
    """Records what an environment renders: images if supported, else text, else nothing.

    Metadata is written to ``<name>.meta.json``; its key ``empty`` means that no frame was recorded,
    ``broken`` that recording failed.

    Args:
        path: The file: ``.mp4`` for images, ``.json`` for text.
        metadata: Additional metadata.
        enabled: Whether to record.
        base_path: The file without its suffix, instead of ``path``.

    Raises:
        Error: Both paths are given, or the suffix is wrong.
    """

    def __init__(
        self,
        env: Any,
        path: str | Path | None = None,
        metadata: dict[str, Any] | None = None,
        enabled: bool = True,
        base_path: str | Path | None = None,
    ) -> None:
        if path is not None and base_path is not None:
            raise Error("Pass at most one of path and base_path.")
        self.env = env
        self.metadata = dict(metadata or {})
        self.empty = True
        self.broken = False
        kind = _kind(env) if enabled else None
        self.enabled = kind is not None
        if kind is None:
            return
        if path is None:
            base = str(base_path or Path(tempfile.mkdtemp()) / "video")
            path = base + kind.suffix
        if not str(path).endswith(kind.suffix):
            raise Error(
                f"Invalid path given: {path} -- must have file extension {kind.suffix}, because "
                f"the environment renders {kind.mode!r}."
            )
        fps = env.metadata.get("video.frames_per_second", 30)
        self._video = kind(Path(path), fps)
        self.path = str(path)
        self.metadata_path = f"{str(path).removesuffix(kind.suffix)}.meta.json"
        self.metadata["content_type"] = kind.content_type
        self._write_metadata()

    @property
    def functional(self) -> bool:
        """Whether frames are being recorded."""
        return self.enabled and not self.broken

    @property
    def ansi_mode(self) -> bool:
        """Whether text is recorded."""
        return self.enabled and isinstance(self._video, TextVideo)

    def capture_frame(self) -> None:
        """Render the environment and add the frame, if the recorder is functional.

        Raises:
            InvalidFrame: The rendered frame is invalid.
        """
        if not self.functional:
            return
        frame = self.env.render(mode=self._video.mode)
        if frame is None:
            logger.warn(
                f"render({self._video.mode!r}) returned None: the video {self.path} ends here and "
                "is marked as broken."
            )
            self.broken = True
            return
        self._video.capture(frame)
        self.empty = False

    def close(self) -> None:
        """Write the video and its metadata; a second call does nothing."""
        if not self.enabled:
            return
        self.enabled = False
        if self.empty:
            self.metadata["empty"] = True
        else:
            self._video.close()
        if self.broken:
            self.metadata["broken"] = True
        self.metadata["encoder_version"] = self._video.version
        self._write_metadata()

    def _write_metadata(self) -> None:
        write_json(Path(self.metadata_path), self.metadata)


def _kind(env: Any) -> type[ImageVideo] | type[TextVideo] | None:
    modes = env.metadata.get("render.modes", [])
    for kind in (ImageVideo, TextVideo):
        if kind.mode in modes:
            return kind
    logger.info("Disabling video recorder because %s neither renders images nor text.", env)
    return None
