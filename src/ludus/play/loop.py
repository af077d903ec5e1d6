"""Interactive play of an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core.env import Env
from ludus.core.types import ActType
from ludus.optional import require
from ludus.play.game import PlayableGame, display_arr, last_frame
from ludus.play.keys import key_codes_to_action, own_keys_to_action

__all__ = ["play"]


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
