"""Window that displays an environment and tracks pressed keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.env import Env
from ludus.optional import require
from ludus.play.keys import check_mapping, own_keys_to_action

__all__ = ["PlayableGame", "display_arr", "last_frame"]


class PlayableGame:
    """An environment in a resizable window.

    Args:
        env: The environment, reset, in the render mode ``rgb_array`` or ``rgb_array_list``.
        keys_to_action: Mapping from tuples of key codes to actions; by default the result of
            ``env.get_keys_to_action()``.
        zoom: Factor of the window's size.

    Raises:
        DependencyNotInstalled: pygame is missing.
        MissingKeysToAction: No mapping is given and the environment has none.
        TypeError: The mapping is not a dict.
        ValueError: The render mode is not supported, or the zoom is not positive.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        keys_to_action: dict[tuple[int, ...], Any] | None = None,
        zoom: float | None = None,
    ) -> None:
        if env.render_mode not in ("rgb_array", "rgb_array_list"):
            raise ValueError(
                "PlayableGame works only with rgb_array and rgb_array_list render modes, but your "
                f"environment render_mode = {env.render_mode}. Build it with "
                "render_mode='rgb_array'."
            )
        if zoom is not None and zoom <= 0:
            raise ValueError(f"Zoom must be a positive float, got {zoom}")
        pygame = require("pygame", extra="classic-control")
        if keys_to_action is None:
            keys_to_action = own_keys_to_action(env)
        self.env = env
        self.relevant_keys = {key for keys in check_mapping(keys_to_action) for key in keys}
        height, width = last_frame(env).shape[:2]
        factor = 1 if zoom is None else zoom
        self.original_video_size = (int(width * factor), int(height * factor))
        self.video_size = self.original_video_size
        self.screen = pygame.display.set_mode(self.video_size, pygame.RESIZABLE)
        self.pressed_keys: set[int] = set()
        self.running = True

    def process_event(self, event: Any) -> None:
        """Update the pressed keys, the window's size and the quit flag."""
        pygame = require("pygame", extra="classic-control")
        if event.type == pygame.QUIT:
            self.running = False
        elif event.type == pygame.KEYDOWN:
            if event.key in self.relevant_keys:
                self.pressed_keys.add(event.key)
            elif event.key == pygame.K_ESCAPE:
                self.running = False
        elif event.type == pygame.KEYUP:
            self.pressed_keys.discard(event.key)
        elif event.type == pygame.WINDOWRESIZED:
            # From the original size, so that rounding errors do not accumulate.
            width, height = self.original_video_size
            scale = min(event.x / width, event.y / height)
            self.video_size = (round(scale * width), round(scale * height))


def last_frame(env: Env[Any, Any]) -> npt.NDArray[np.uint8]:
    """Render and return the frame, or the last of a list of frames.

    Raises:
        TypeError: ``render`` did not return an array.
    """
    frame = env.render()
    if isinstance(frame, list):
        frame = frame[-1]
    if not isinstance(frame, np.ndarray):
        raise TypeError(
            f"{env}.render() returned {type(frame)}, expected an array; use "
            "render_mode='rgb_array'."
        )
    return frame


def display_arr(
    screen: Any, arr: npt.NDArray[np.uint8], video_size: tuple[int, int], transpose: bool | None
) -> None:
    """Draw an image in the middle of the screen, with a black border.

    Args:
        screen: The pygame surface to draw on.
        arr: The image.
        video_size: Width and height of the drawing.
        transpose: Swap the first two axes; set it if the image has the shape (height, width, 3).

    Raises:
        TypeError: The image is not a uint8 array.
    """
    if not isinstance(arr, np.ndarray) or arr.dtype != np.uint8:
        raise TypeError(f"An image must be a uint8 array, got {getattr(arr, 'dtype', type(arr))}.")
    pygame = require("pygame", extra="classic-control")
    picture = pygame.surfarray.make_surface(arr.swapaxes(0, 1) if transpose else arr)
    width, height = screen.get_size()
    corner = ((width - video_size[0]) / 2, (height - video_size[1]) / 2)
    screen.fill((0, 0, 0))
    screen.blit(pygame.transform.scale(picture, video_size), corner)
