"""Adapter from a Ludus environment to the classic API."""

from __future__ import annotations

from typing import Any, ClassVar

from ludus.classic.env import Env
from ludus.classic.error import UnsupportedMode
from ludus.classic.generator import classic_generator
from ludus.core import env as modern
from ludus.core.forwarding import ForwardsAttributes

__all__ = ["FromLudus"]


class FromLudus(ForwardsAttributes, Env):
    """A Ludus environment with the API of classic Gym.

    ``seed`` sets a generator with Gym's random numbers, so an environment that Gym also had has the
    same initial states. Attributes that the adapter lacks, such as the spaces, are those of the
    environment.
    """

    _inner_name: ClassVar[str] = "ludus_env"
    ludus_env: modern.Env[Any, Any]

    def __init__(self, env: modern.Env[Any, Any]) -> None:
        self.metadata = _classic_metadata(env.metadata)
        self.spec = env.spec
        self._shown_mode: str | None = None
        # Last, because from here on attributes that the environment has are set there.
        self.ludus_env = env

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest possible reward."""
        return getattr(self.ludus_env, "reward_range", Env.reward_range)

    @reward_range.setter
    def reward_range(self, value: tuple[float, float]) -> None:
        self.ludus_env.unwrapped.reward_range = value  # type: ignore[attr-defined]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step; a truncation sets ``info["TimeLimit.truncated"]``."""
        observation, reward, terminated, truncated, info = self.ludus_env.step(action)
        if truncated:
            info["TimeLimit.truncated"] = not terminated
        return observation, float(reward), bool(terminated or truncated), info

    def reset(self) -> Any:
        """Reset and return the observation."""
        return self.ludus_env.reset()[0]

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed with Gym's algorithm.

        Raises:
            Error: The seed is not a non-negative int.
        """
        self.ludus_env.np_random, used = classic_generator(seed)
        return [used]

    def render(self, mode: str = "human", close: bool = False) -> Any:
        """Render in one of the environment's modes.

        Raises:
            UnsupportedMode: The environment does not support the mode.
        """
        if close:
            self.ludus_env.close()
            return None
        modes = self.metadata["render.modes"]
        if mode not in modes:
            raise UnsupportedMode(f"Unsupported rendering mode: {mode!r}; {self} supports {modes}.")
        env = self.ludus_env.unwrapped
        if self._shown_mode not in (None, mode):
            env.close()  # a window or canvas belongs to one mode
        self._shown_mode = mode
        # The mode is reset, because the environment would otherwise render in every step.
        chosen, env.render_mode = env.render_mode, mode
        try:
            return env.render()
        finally:
            env.render_mode = chosen

    def close(self) -> None:
        """Close the environment."""
        self.ludus_env.close()

    def __str__(self) -> str:
        return str(self.ludus_env)


def _classic_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    classic = {**metadata, "render.modes": list(metadata.get("render_modes", []))}
    if "render_fps" in metadata:
        classic["video.frames_per_second"] = metadata["render_fps"]
    return classic
