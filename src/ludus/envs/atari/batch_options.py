"""Converts the options of a batch of games to the emulator's."""

from __future__ import annotations

from typing import Any

from ludus.core.vector_env import AutoresetMode
from ludus.envs.atari.emulator import rom_path
from ludus.envs.atari.options import check_count, check_flag, check_share
from ludus.errors import Error

__all__ = ["native_options"]

_COUNTS = {
    "batch_size": 0,
    "frameskip": 1,
    "img_height": 1,
    "img_width": 1,
    "max_num_frames_per_episode": 1,
    "noop_max": 0,
    "num_envs": 1,
    "num_threads": 0,
    "stack_num": 1,
    "thread_affinity_offset": -1,
}
"""Smallest value of each number; below it, the emulator may wait forever or crash."""
_FLAGS = (
    "continuous",
    "episodic_life",
    "full_action_space",
    "grayscale",
    "life_loss_info",
    "maxpool",
    "reward_clipping",
    "use_fire_reset",
)
_NATIVE_NAMES = {"frameskip": "frame_skip", "max_num_frames_per_episode": "max_episode_steps"}
_NO_LIMIT = 2**31 - 1


def native_options(given: dict[str, Any]) -> dict[str, Any]:
    """Check the arguments of the batch and return those of the emulator's batch.

    Raises:
        Error: An option has no such value, or two contradict each other.
        ValueError: There is no such autoreset mode.
    """
    if given["max_num_frames_per_episode"] is None:
        given = {**given, "max_num_frames_per_episode": _NO_LIMIT}
    options: dict[str, Any] = {
        **{name: check_count(name, given[name], least) for name, least in _COUNTS.items()},
        **{name: check_flag(name, given[name]) for name in _FLAGS},
    }
    name = "repeat_action_probability"
    options[name] = check_share(name, given[name])
    options["batch_size"] = options["batch_size"] or options["num_envs"]
    if options["batch_size"] > options["num_envs"]:
        raise Error(
            f"batch_size is {options['batch_size']}, but there are only {options['num_envs']} "
            "games; pass at most num_envs, or 0 for all."
        )
    # A joystick reaches every action.
    options["full_action_space"] |= options.pop("continuous")
    options["autoreset_mode"] = _native_mode(AutoresetMode(given["autoreset_mode"]), options)
    options["rom_path"] = rom_path(given["game"])
    return {_NATIVE_NAMES.get(name, name): value for name, value in options.items()}


def _native_mode(mode: AutoresetMode, options: dict[str, Any]) -> str:
    if mode is not AutoresetMode.DISABLED:
        return str(mode.value)
    if options["life_loss_info"] or options["batch_size"] < options["num_envs"]:
        raise Error(
            "autoreset_mode='Disabled' needs to know which games are over: it goes neither with "
            "life_loss_info, which reports ends that are none, nor with a batch_size below "
            "num_envs."
        )
    # A game that is over and gets reset in time never comes to reset itself in the next step.
    return str(AutoresetMode.NEXT_STEP.value)
