"""Videos of chosen episodes of a recording."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.optional import check_installed
from ludus.record.episodes.recorder import Recorder
from ludus.record.replay.subject import AnyEnv, autoreset_mode
from ludus.wrappers.video import write_video

__all__ = ["Film"]


class Film:
    """Frames of one episode in every ``every``, stored as ``video/episode-000000.mp4``.

    Of a vector environment, the first environment is shown.

    Raises:
        DependencyNotInstalled: MoviePy is not installed.
        ValueError: The environment does not render images, or ``every`` is not positive.
    """

    def __init__(self, env: AnyEnv, every: int) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"video={every!r}: expected a positive number of episodes, or None.")
        if env.render_mode != "rgb_array":
            raise ValueError(
                f"A video needs images, but the render mode is {env.render_mode!r}. Build the "
                "environment with render_mode='rgb_array'."
            )
        check_installed("moviepy", extra="video")
        self._env = env
        self._every = every
        self._mode = autoreset_mode(env) if isinstance(env, VectorEnv) else None
        self._fps = env.metadata.get("render_fps", 30)
        self._episode = -1
        self._frames: list[Any] | None = None
        self._ended = False

    def begin(self, recorder: Recorder) -> None:
        """Begin an episode; the film of the one before is finished."""
        self.finish(recorder)
        self._episode += 1
        self._ended = False
        if self._episode % self._every == 0:
            self._frames = []
            self._shoot()

    def take(self, result: tuple[Any, Any, Any, Any, Any], recorder: Recorder) -> None:
        """Take a frame after a step, which in a batch may have begun an episode."""
        if self._mode is None:
            self._shoot()
            return
        ended = bool(result[2][0] or result[3][0])
        if self._mode is AutoresetMode.NEXT_STEP:
            ended, self._ended = self._ended, ended
        if ended and self._mode is not AutoresetMode.DISABLED:
            begun_by, self._ended = self._ended, False
            self.begin(recorder)
            self._ended = begun_by
        else:
            self._shoot()

    def _shoot(self) -> None:
        if self._frames is not None:
            frame: Any = self._env.render()
            self._frames.append(frame if self._mode is None else frame[0])

    def finish(self, recorder: Recorder) -> None:
        """Write the film of the current episode, if it is filmed."""
        frames, self._frames = self._frames, None
        if not frames or recorder.is_closed:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "film.mp4"
            write_video(frames, path, fps=self._fps)
            recorder.add_file(f"video/episode-{self._episode:06}.mp4", path)
