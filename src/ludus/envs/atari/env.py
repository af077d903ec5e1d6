"""One Atari game."""

from __future__ import annotations

import copy
import math
import operator
import zlib
from typing import Any, Literal, SupportsFloat

import numpy as np

from ludus.core.env import Env
from ludus.core.types import State
from ludus.envs.atari.emulator import import_ale, power_on, rom_path
from ludus.envs.atari.joystick import action_table, joystick_space, keys_of_action, push
from ludus.envs.atari.options import (
    check_count,
    check_flag,
    check_frameskip,
    check_one_of,
    check_share,
)
from ludus.envs.atari.sticky import StickyActions
from ludus.envs.atari.window import Window, warn_without_display
from ludus.errors import Error, InvalidAction, StateError
from ludus.seeding import np_random as make_np_random
from ludus.spaces import Box, Dict, Discrete, Space

__all__ = ["AtariEnv"]

_READERS = {"rgb": "getScreenRGB", "grayscale": "getScreenGrayscale", "ram": "getRAM"}
_SOUND_SAMPLES = 512
_ACTIONS = 18
_DAMAGE = (LookupError, RuntimeError, SystemError, TypeError, ValueError, zlib.error)


class AtariEnv(Env[Any, Any]):
    """An Atari 2600 game in the Arcade Learning Environment.

    Args:
        game: Name of the cartridge, in snake_case.
        mode: Game mode, one of those the game has; its default otherwise.
        difficulty: Position of the difficulty switch, likewise.
        obs_type: Kind of observation: ``"rgb"``, ``"grayscale"`` or the machine's ``"ram"``.
        frameskip: Frames per action, or a pair ``(low, high)``: uniform from low to high - 1.
        repeat_action_probability: Chance, each frame, that the last action is repeated instead.
        full_action_space: Offer all 18 actions instead of those that the game uses.
        continuous: Take actions as radius and angle of a joystick, and a trigger.
        continuous_action_threshold: How far joystick and trigger must be moved to count.
        max_num_frames_per_episode: Frames after which an episode is truncated.
        render_mode: ``"human"`` opens a window with sound, ``"rgb_array"`` returns frames.
        sound_obs: Observe a dict of ``image`` and ``sound``.

    Raises:
        Error: An option has no such value, or there is no such game.
        DependencyNotInstalled: ale-py is not installed.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        mode: int | None = None,
        difficulty: int | None = None,
        obs_type: Literal["rgb", "grayscale", "ram"] = "rgb",
        frameskip: tuple[int, int] | int = 4,
        repeat_action_probability: float = 0.25,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        max_num_frames_per_episode: int | None = None,
        render_mode: Literal["human", "rgb_array"] | None = None,
        sound_obs: bool = False,
    ) -> None:
        self._arguments = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        check_one_of("observation type", obs_type, tuple(_READERS))
        check_one_of("render mode", render_mode, (None, *self.metadata["render_modes"]))
        everything = check_flag("full_action_space", full_action_space)
        self.continuous = check_flag("continuous", continuous)
        self.sound_obs = check_flag("sound_obs", sound_obs)
        stickiness = check_share("repeat_action_probability", repeat_action_probability)
        self._frameskip = check_frameskip(frameskip)
        self.render_mode = render_mode
        self.continuous_action_threshold = continuous_action_threshold

        self._window = Window(self.metadata["render_fps"])
        self._emulator_shows = render_mode == "human"
        if self._emulator_shows:
            warn_without_display()
        self._cartridge = rom_path(game)
        settings: dict[str, bool | int | float] = {
            "display_screen": self._emulator_shows,
            "repeat_action_probability": stickiness,
            "sound": self._emulator_shows,
            "sound_obs": self.sound_obs,
        }
        if max_num_frames_per_episode is not None:
            name = "max_num_frames_per_episode"
            settings[name] = check_count(name, max_num_frames_per_episode, 0)
        self.ale = power_on(settings)
        self._read = getattr(self.ale, _READERS[obs_type])
        self._sticky = StickyActions(self.ale, stickiness)
        self._restored_frame: np.ndarray[Any, Any] | None = None
        self._reload_at_reset = False
        self.seed_game()
        self.load_game()

        offered = "Legal" if everything or self.continuous else "Minimal"
        self._action_set = list(getattr(self.ale, f"get{offered}ActionSet")())
        self._numbers = [action.value for action in self._action_set]
        self.action_space = joystick_space() if self.continuous else Discrete(len(self._numbers))
        self.observation_space = self._observed()

    def __reduce__(self) -> Any:
        # An emulator cannot be copied; a copy of the environment has a new one with the same ROM.
        return _rebuild, (type(self), self._arguments)

    def _observed(self) -> Space[Any]:
        image = Box(0, 255, shape=self._read().shape, dtype=np.uint8)
        if not self.sound_obs:
            return image
        return Dict(image=image, sound=Box(0, 255, shape=(_SOUND_SAMPLES,), dtype=np.uint8))

    def seed_game(self, seed: int | None = None) -> tuple[Any, Any]:
        """Derive a seed for the random generator and one for the emulator, and use them.

        The emulator takes its own with the next :meth:`load_game`.
        """
        own, emulator = np.random.SeedSequence(seed).generate_state(2)
        self._np_random = make_np_random(int(own))[0]
        self.ale.setInt("random_seed", int(emulator.astype(np.int32)))
        return own, emulator

    @property
    def np_random(self) -> np.random.Generator:
        """The random generator; one that is assigned seeds the emulator, too, at the next reset."""
        return super().np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random, self._np_random_seed = value, -1
        # Draws from a copy, so that the generator itself is not advanced.
        self.ale.setInt("random_seed", int(copy.deepcopy(value).integers(2**31)))
        self._reload_at_reset = True

    def load_game(self) -> None:
        """Insert the cartridge and set the switches.

        Raises:
            Error: The game has no such mode or difficulty.
        """
        ale = self.ale
        ale.loadROM(self._cartridge)
        self._reload_at_reset = False
        for switch, positions, turn in (
            ("mode", ale.getAvailableModes, ale.setMode),
            ("difficulty", ale.getAvailableDifficulties, ale.setDifficulty),
        ):
            wanted = self._arguments[switch]
            if wanted is not None:
                check_one_of(switch, wanted, tuple(positions()))
                turn(wanted)
        self._sticky.start()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game; with a seed, ``info["seeds"]`` has the two derived from it."""
        super().reset(seed=seed, options=options)
        extra = {}
        if seed is not None:
            extra["seeds"] = self.seed_game(seed)
        if seed is not None or self._reload_at_reset:
            self.load_game()
        self.ale.reset_game()
        self._sticky.start()
        self._restored_frame = None
        return self._look(), {**self._counters(), **extra}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the action for the number of skipped frames, and sum the rewards.

        Raises:
            InvalidAction: There is no such action.
        """
        number, strength = self._chosen(action)
        frames = self._frameskip
        if not isinstance(frames, int):
            frames = int(self.np_random.integers(*frames))
        ale = self.ale
        reward = 0.0
        for _ in range(frames):
            reward += ale.act(number, strength)
        self._sticky.took(number, strength, frames)
        self._restored_frame = None
        ended, cut = ale.game_over(with_truncation=False), ale.game_truncated()
        return self._look(), reward, ended, cut, self._counters()

    def _chosen(self, action: Any) -> tuple[int, float]:
        if self.continuous:
            number, strength = push(action, self.continuous_action_threshold)
            return int(number), float(strength)
        try:
            index = operator.index(action)
        except TypeError:
            index = -1
        if not 0 <= index < len(self._numbers):
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid; expected an integer from 0 to "
                f"{len(self._numbers) - 1}."
            )
        return self._numbers[index], 1.0

    def _look(self) -> Any:
        image = self._read()
        return {"image": image, "sound": self.ale.getAudio()} if self.sound_obs else image

    def _counters(self) -> dict[str, Any]:
        ale = self.ale
        return {
            "lives": ale.lives(),
            "episode_frame_number": ale.getEpisodeFrameNumber(),
            "frame_number": ale.getFrameNumber(),
        }

    def render(self) -> Any:
        """Return the screen in the mode ``rgb_array``; the emulator updates its own window.

        Raises:
            Error: No render mode was chosen.
        """
        if self.render_mode is None:
            raise Error(
                "Invalid render mode `None`: render() needs one of `human`, `rgb_array`, chosen "
                'when the environment is built: make(..., render_mode="rgb_array").'
            )
        if self.render_mode != "human":
            return self._frame()
        if not self._emulator_shows:
            self._window.show(self._frame())
        return None

    def close(self) -> None:
        """Close the window, unless it is the emulator's own, which closes with the emulator."""
        self._window.close()

    def _frame(self) -> np.ndarray[Any, Any]:
        # After a restore the emulator does not update its screen, so the saved one is used.
        if self._restored_frame is not None:
            return self._restored_frame.copy()
        return self.ale.getScreenRGB()  # type: ignore[no-any-return]

    def get_action_meanings(self) -> list[str]:
        """Return the name of each action, such as ``"UPFIRE"``."""
        return [action.name for action in self._action_set]

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Return the action for each set of keys: w, a, s, d, space to fire, e for nothing.

        Raises:
            AttributeError: Actions are continuous.
        """
        if self.continuous:
            raise AttributeError(
                "`get_keys_to_action` has no answer for continuous=True; keys are no joystick."
            )
        return {keys_of_action(name): i for i, name in enumerate(self.get_action_meanings())}

    @staticmethod
    def map_action_idx(left_center_right: int, down_center_up: int, fire: bool) -> Any:
        """Return the emulator's action for a stick pushed by -1, 0 or 1 each way, and the trigger.

        Raises:
            LookupError: The stick cannot be pushed like that.
        """
        if not {left_center_right, down_center_up} <= {-1, 0, 1}:
            raise LookupError(
                f"A stick is pushed by -1, 0 or 1 each way, got {left_center_right!r} to the "
                f"right and {down_center_up!r} upwards."
            )
        number = action_table()[left_center_right, down_center_up, int(fire)]
        return import_ale().Action(int(number))

    def clone_state(self, include_rng: bool = False) -> Any:
        """Return the emulator's own state object; :meth:`get_state` returns plain data."""
        return self.ale.cloneState(include_rng=include_rng)

    def restore_state(self, state: Any) -> None:
        """Restore the state that :meth:`clone_state` returned."""
        with self._sticky.kept():
            self.ale.restoreState(state)
        self._restored_frame = None

    def _save_state(self) -> State:
        action, strength = self._sticky.held()
        return {
            "game": self._arguments["game"],
            "emulator": self.ale.cloneState(include_rng=True).serialize(),
            "held_action": action,
            "held_strength": strength,
            "frame": zlib.compress(self._frame().tobytes(), 1),
        }

    def _load_state(self, fields: State) -> None:
        game = self._arguments["game"]
        if fields.get("game") != game:
            raise StateError(f"The state is one of the game {fields.get('game')!r}, not {game!r}.")
        try:
            state = import_ale().ALEState(fields["emulator"])
            shape = (*self.ale.getScreenDims(), 3)
            # Limits the size of decompressed data from a forged state.
            unpacked = zlib.decompressobj().decompress(fields["frame"], math.prod(shape) + 1)
            frame = np.frombuffer(unpacked, np.uint8).reshape(shape).copy()
            action, strength = int(fields["held_action"]), float(fields["held_strength"])
            if not (0 <= action < _ACTIONS and 0 <= strength <= 1):
                raise ValueError(f"there is no action {action} of strength {strength}")
            self._sticky.restore(state, action, strength)
        except _DAMAGE as problem:
            raise StateError(f"The state of {game} is damaged: {problem!r}.") from problem
        self._restored_frame = frame


def _rebuild(kind: type[AtariEnv], arguments: dict[str, Any]) -> AtariEnv:
    return kind(**arguments)
