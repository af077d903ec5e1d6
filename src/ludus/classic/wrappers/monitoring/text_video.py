"""Videos of text, as terminal recordings."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

from ludus.classic.error import Error, InvalidFrame
from ludus.classic.wrappers.monitoring.atomic import write_json

__all__ = ["TextVideo"]

_CLEAR_SCREEN = "\x1b[2J\x1b[1;1H"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class TextVideo:
    """Collects text frames and writes them in the format asciicast v1."""

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
                f"Wrong type {type(frame)} for {frame!r}: a text frame is a str or StringIO."
            )
        if not text.endswith("\n"):
            raise Error(f"A text frame ends with a newline, this one does not: {text!r}")
        if "\r" in text:
            raise Error(f"A text frame has newlines only, no carriage returns: {text!r}")
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
