"""Adapter from a classic environment to Ludus's vector backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core import env as modern
from ludus.core.foreign_spaces import from_foreign

__all__ = ["Slot", "SlotBuilder", "infos_of"]

_KEY = "classic"


class Slot(modern.Env[Any, Any]):
    """One environment of a batch, whose infos pass through the backend unchanged.

    The backend merges info dicts into arrays, but keeps a dict inside a tuple.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.action_space = from_foreign(env.action_space)
        self.observation_space = from_foreign(env.observation_space)
        self.metadata = dict(getattr(env, "metadata", {}))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Seed, if a seed is given, and reset."""
        if seed is not None:
            self.env.seed(seed)
        return self.env.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step."""
        observation, reward, done, info = self.env.step(action)
        return observation, reward, bool(done), False, {_KEY: (info,)}

    def render(self) -> Any:
        """Render for a human."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class SlotBuilder:
    """Builds a slot in the process that steps it."""

    def __init__(self, env_fn: Callable[[], Any]) -> None:
        self.env_fn = env_fn

    def __call__(self) -> Slot:
        """Build the environment."""
        return Slot(self.env_fn())


def infos_of(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return one info per environment, with ``terminal_observation`` if it has finished."""
    taken: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for source in (infos, infos.get("final_info", {})):
        for index, held in enumerate(source.get(_KEY, ())):
            if source[f"_{_KEY}"][index]:
                taken[index] = held[0]
    for index, finished in enumerate(infos.get("_final_obs", ())):
        if finished:
            taken[index]["terminal_observation"] = infos["final_obs"][index]
    return taken
