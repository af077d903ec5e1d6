"""Standard preprocessing of Atari games."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus.core import Env, RecordConstructorArgs, Wrapper
from ludus.optional import require
from ludus.spaces import Box
from ludus.wrappers.utils import require_box

__all__ = ["AtariPreprocessing"]


class AtariPreprocessing(Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Preprocess an Atari game as Machado et al. (2018) recommend, without frame stacking.

    Args:
        env: The game, with its own frame skipping turned off.
        noop_max: Start with a random number of no-ops from 1 to this; 0 for none.
        frame_skip: Frames per action; the observation is the maximum of the last two.
        screen_size: Size of the observations, one number or width and height.
        terminal_on_life_loss: End the episode when a life is lost.
        grayscale_obs: Return gray images instead of colours.
        grayscale_newaxis: Give gray images a channel axis of length one.
        scale_obs: Return float32 from 0 to 1 instead of uint8 from 0 to 255.

    Raises:
        ValueError: A number is out of range, the game skips frames by itself, or its first action
            is not a no-op although ``noop_max`` is positive.
        TypeError: The observation space is not a Box.
        DependencyNotInstalled: OpenCV is not installed.
    """

    state_fields = ("obs_buffer", "lives", "game_over")

    def __init__(
        self,
        env: Env[Any, Any],
        noop_max: int = 30,
        frame_skip: int = 4,
        screen_size: int | tuple[int, int] = 84,
        terminal_on_life_loss: bool = False,
        grayscale_obs: bool = True,
        grayscale_newaxis: bool = False,
        scale_obs: bool = False,
    ) -> None:
        options = {k: v for k, v in locals().items() if k not in ("self", "env")}
        RecordConstructorArgs.__init__(self, **options)
        Wrapper.__init__(self, env)
        require("cv2", extra="images")
        self.screen_size = _checked_size(screen_size)
        _check_game(env.unwrapped, frame_skip, noop_max)
        self.noop_max = noop_max
        self.frame_skip = frame_skip
        self.terminal_on_life_loss = terminal_on_life_loss
        self.grayscale_obs = grayscale_obs
        self.grayscale_newaxis = grayscale_newaxis
        self.scale_obs = scale_obs
        self.lives = 0
        self.game_over = False

        box = require_box(type(self), "observation", env.observation_space)
        screen = box.shape[:2] if grayscale_obs else box.shape
        # The newest screen, and the one before it.
        self.obs_buffer = [np.zeros(screen, dtype=np.uint8) for _ in range(2)]
        channels: tuple[int, ...] = (1,) if grayscale_obs else (3,)
        if grayscale_obs and not grayscale_newaxis:
            channels = ()
        self.observation_space = Box(
            low=0,
            high=1 if scale_obs else 255,
            shape=(self.screen_size[1], self.screen_size[0], *channels),
            dtype=np.float32 if scale_obs else np.uint8,
        )

    @property
    def ale(self) -> Any:
        """The emulator."""
        return self.env.unwrapped.ale  # type: ignore[attr-defined]

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Repeat the action ``frame_skip`` times and sum the rewards."""
        total: Any = 0.0
        for left in range(self.frame_skip - 1, -1, -1):
            _, reward, terminated, truncated, info = self.env.step(action)
            total += reward
            if self.terminal_on_life_loss:
                lives = self.ale.lives()
                terminated = terminated or lives < self.lives
                self.lives = lives
            self.game_over = terminated
            if terminated or truncated:
                break
            if left < 2:
                self._read_screen(self.obs_buffer[left])
        return self._observation(), total, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset and take the no-ops; the info is updated with that of each no-op."""
        _, info = self.env.reset(seed=seed, options=options)
        noops = 0
        if self.noop_max > 0:
            noops = int(self.env.unwrapped.np_random.integers(1, self.noop_max + 1))
        for _ in range(noops):
            _, _, terminated, truncated, step_info = self.env.step(0)
            info.update(step_info)
            if terminated or truncated:
                _, info = self.env.reset(seed=seed, options=options)
        self.lives = self.ale.lives()
        self._read_screen(self.obs_buffer[0])
        self.obs_buffer[1].fill(0)
        return self._observation(), info

    def _read_screen(self, out: npt.NDArray[np.uint8]) -> None:
        if self.grayscale_obs:
            self.ale.getScreenGrayscale(out)
        else:
            self.ale.getScreenRGB(out)

    def _observation(self) -> npt.NDArray[Any]:
        import cv2

        screen, before = self.obs_buffer
        if self.frame_skip > 1:
            np.maximum(screen, before, out=screen)
        image: npt.NDArray[Any] = cv2.resize(screen, self.screen_size, interpolation=cv2.INTER_AREA)
        if self.scale_obs:
            image = np.asarray(image, dtype=np.float32) / 255.0
        if self.grayscale_obs and self.grayscale_newaxis:
            image = image[..., None]
        return image


def _checked_size(size: object) -> tuple[int, int]:
    pair = (size, size) if isinstance(size, int) else size
    if (
        not isinstance(pair, tuple)
        or len(pair) != 2
        or not all(isinstance(side, int) and side > 0 for side in pair)
    ):
        raise ValueError(f"`screen_size` must be a positive int or a tuple of two, got {size!r}.")
    return pair


def _check_game(game: Any, frame_skip: int, noop_max: int) -> None:
    if frame_skip <= 0:
        raise ValueError(f"`frame_skip` must be positive, got {frame_skip}.")
    if frame_skip > 1 and getattr(game, "_frameskip", None) != 1:
        raise ValueError(
            "Frames would be skipped twice: disable frame-skipping in the game itself "
            f"(frameskip=1); its _frameskip is {getattr(game, '_frameskip', None)}."
        )
    if noop_max < 0:
        raise ValueError(f"`noop_max` must not be negative, got {noop_max}.")
    if noop_max > 0 and game.get_action_meanings()[0] != "NOOP":
        raise ValueError(
            f"`noop_max` is {noop_max}, but the game's first action is not 'NOOP', it is "
            f"{game.get_action_meanings()[0]!r}."
        )
