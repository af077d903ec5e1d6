"""Interactive play of an environment with the keyboard, and live plots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ludus.core.env import Env
from ludus.core.types import ActType
from ludus.errors import Error
from ludus.optional import require

__all__ = [
    "KeyCodes",
    "MissingKeysToAction",
    "PlayPlot",
    "PlayableGame",
    "display_arr",
    "key_codes_to_action",
    "last_frame",
    "own_keys_to_action",
    "play",
]

KeyCodes: TypeAlias = tuple[int, ...]
"""The sorted codes of keys that are pressed together."""


class MissingKeysToAction(Error):
    """Neither the environment nor the caller provides a mapping of keys to actions."""


def own_keys_to_action(env: Env[Any, Any]) -> Any:
    """Return the result of the environment's ``get_keys_to_action()``.

    Raises:
        MissingKeysToAction: The environment has no such method.
    """
    if not env.has_wrapper_attr("get_keys_to_action"):
        name = env if env.spec is None else env.spec.id
        raise MissingKeysToAction(
            f"{name} does not have explicit key to action mapping, please specify one manually: "
            "play(env, keys_to_action={'a': 0, 'd': 1})."
        )
    return env.get_wrapper_attr("get_keys_to_action")()


def key_codes_to_action(keys_to_action: Any, env: Env[Any, Any]) -> dict[KeyCodes, Any]:
    """Return the mapping with every key combination as sorted key codes.

    A combination is a key code, a string with one character per key, or a tuple of both.

    Raises:
        TypeError: The mapping is not a dict, or a key has another type.
        ValueError: A tuple is empty, or an action is not in the action space.
    """
    check_mapping(keys_to_action)
    codes: dict[KeyCodes, Any] = {}
    for keys, action in keys_to_action.items():
        _check_combination(keys)
        if action not in env.action_space:
            raise ValueError(
                f"Action {action} of the keys {keys!r} is not a valid action in the environment "
                f"action space: {env.action_space}."
            )
        parts = (keys,) if isinstance(keys, int) else keys
        codes[tuple(sorted(ord(key) if isinstance(key, str) else key for key in parts))] = action
    return codes


def check_mapping(keys_to_action: Any) -> Mapping[Any, Any]:
    """Return the mapping if it is a dict, else raise :class:`TypeError`."""
    if not isinstance(keys_to_action, dict):
        raise TypeError(f"keys_to_action must be a dictionary, got {type(keys_to_action)}")
    return keys_to_action


def _check_combination(keys: Any) -> None:
    if isinstance(keys, tuple):
        if not keys:
            raise ValueError("Key combinations in keys_to_action tuples cannot be empty")
        if not all(isinstance(key, str | int) for key in keys):
            raise TypeError(
                f"All keys in key combination tuple must be integers or strings, got {keys}"
            )
        if any(isinstance(key, str) and len(key) != 1 for key in keys):
            raise TypeError(
                f"Strings in a tuple of keys must be single characters, got {keys}; write "
                "('a', 'b') or 'ab' for two keys."
            )
    elif not isinstance(keys, str | int):
        raise TypeError(f"Keys in keys_to_action must be integers or strings, got {type(keys)}")


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


class PlayPlot:
    """Plots numbers computed from each step; pass its :meth:`callback` to ``play``.

    Args:
        callback: Function of the previous and the new observation, the action, the reward,
            terminated, truncated and info that returns one number per plot.
        horizon_timesteps: Number of last steps to show.
        plot_names: Title of each plot.

    Raises:
        DependencyNotInstalled: matplotlib is missing.

    Example:
        >>> plotter = PlayPlot(lambda *step: [step[3]], 150, ["reward"])  # doctest: +SKIP
        >>> play(env, callback=plotter.callback)  # doctest: +SKIP
    """

    def __init__(
        self,
        callback: Callable[..., Iterable[float]],
        horizon_timesteps: int,
        plot_names: list[str],
    ) -> None:
        self.data_callback = callback
        self.horizon_timesteps = horizon_timesteps
        self.plot_names = plot_names
        self._pyplot = require("matplotlib.pyplot", extra="plots")
        self.fig, axes = self._pyplot.subplots(len(plot_names), squeeze=False)
        self.ax: list[Any] = list(axes[:, 0])
        for axis, name in zip(self.ax, plot_names, strict=True):
            axis.set_title(name)
        self.t = 0
        self.cur_plot: list[Any] = [None] * len(plot_names)
        self.data: list[deque[float]] = [deque(maxlen=horizon_timesteps) for _ in plot_names]

    def callback(
        self,
        obs_t: Any,
        obs_tp1: Any,
        action: Any,
        rew: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Compute the numbers of one step and draw them.

        Raises:
            ValueError: The callback did not return one number per plot.
        """
        points = list(self.data_callback(obs_t, obs_tp1, action, rew, terminated, truncated, info))
        if len(points) != len(self.data):
            raise ValueError(
                f"The callback returned {len(points)} numbers, expected {len(self.data)}: one for "
                f"each of the plots {self.plot_names}."
            )
        for point, series in zip(points, self.data, strict=True):
            series.append(point)
        self.t += 1
        first = max(0, self.t - self.horizon_timesteps)
        for i, (axis, series) in enumerate(zip(self.ax, self.data, strict=True)):
            if self.cur_plot[i] is not None:
                self.cur_plot[i].remove()
            self.cur_plot[i] = axis.scatter(range(first, self.t), list(series), c="blue")
            axis.set_xlim(first, self.t)
        self._pyplot.pause(1e-6)


def play(
    env: Env[Any, ActType],
    transpose: bool | None = True,
    fps: int | None = None,
    zoom: float | None = None,
    callback: Callable[..., Any] | None = None,
    keys_to_action: dict[Any, ActType] | None = None,
    seed: int | None = None,
    noop: ActType | int = 0,
    wait_on_player: bool = False,
) -> None:
    """Play an environment with the keyboard until the window is closed or Escape is pressed.

    Args:
        env: The environment, in the render mode ``rgb_array`` or ``rgb_array_list``.
        transpose: Whether frames have the shape (height, width, 3).
        fps: Limit of steps per second; by default ``metadata["render_fps"]``, or 30.
        zoom: Factor of the window's size.
        callback: Called after every step with the previous and the new observation, the action,
            the reward, terminated, truncated and info; see :class:`~ludus.play.PlayPlot`.
        keys_to_action: Actions by key combination: a key code, a string with one character per key,
            or a tuple of both, as in ``{"w": 1, "wa": 2, (ord("s"),): 3}``. By default the result
            of ``env.get_keys_to_action()``.
        seed: Seed of every reset.
        noop: The action without a key, or with an unknown combination.
        wait_on_player: Step only while a key is pressed, for turn-based environments.

    Raises:
        DependencyNotInstalled: pygame is missing.
        MissingKeysToAction: No mapping is given and the environment has none.
        TypeError: The mapping or frame rate has the wrong type.
        ValueError: A key combination, action, zoom or render mode is invalid.
    """
    env.reset(seed=seed)
    actions = key_codes_to_action(_mapping(env) if keys_to_action is None else keys_to_action, env)
    game = PlayableGame(env, actions, zoom)
    pygame = require("pygame", extra="classic-control")
    clock, rate = pygame.time.Clock(), _frame_rate(env, fps)
    done, observation = True, None
    try:
        while game.running:
            if done:
                observation, _ = env.reset(seed=seed)
                done = False
            elif game.pressed_keys or not wait_on_player:
                action = actions.get(tuple(sorted(game.pressed_keys)), noop)
                before = observation
                observation, reward, terminated, truncated, info = env.step(action)
                done = bool(terminated or truncated)
                if callback is not None:
                    callback(before, observation, action, reward, terminated, truncated, info)
            display_arr(game.screen, last_frame(env), game.video_size, transpose)
            for event in pygame.event.get():
                game.process_event(event)
            pygame.display.flip()
            clock.tick(rate)
    finally:
        pygame.quit()


def _mapping(env: Env[Any, Any]) -> Any:
    if env.spec is None and not env.has_wrapper_attr("get_keys_to_action"):
        raise ValueError(
            "The environment must have an `env.spec` to auto-detect missing keys to action "
            "mappings. Pass play(env, keys_to_action={'a': 0, 'd': 1})."
        )
    return own_keys_to_action(env)


def _frame_rate(env: Env[Any, Any], fps: int | None) -> int:
    if fps is not None:
        return fps
    declared = env.metadata.get("render_fps", 30)
    if not isinstance(declared, int):
        raise TypeError(
            f"Expected env.metadata['render_fps'] to be an integer, got {type(declared)}. Pass "
            "play(env, fps=30)."
        )
    return declared
