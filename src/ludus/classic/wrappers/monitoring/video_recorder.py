"""Recorder of one video of an environment."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ludus.classic import logger
from ludus.classic.error import Error
from ludus.classic.wrappers.monitoring.stats_recorder import write_json
from ludus.classic.wrappers.monitoring.video_formats import ImageVideo, TextVideo

__all__ = ["VideoRecorder"]


class VideoRecorder:
    """Records what an environment renders: images if supported, else text, else nothing.

    Metadata is written to ``<name>.meta.json``; its key ``empty`` means that no frame was recorded,
    ``broken`` that recording failed.

    Args:
        env: The environment.
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
