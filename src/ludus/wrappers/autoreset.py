"""Resets an environment by itself at the end of an episode."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper

__all__ = ["Autoreset"]


class Autoreset(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Reset in the step after an episode's last one.

    That step ignores its action and returns the first observation of the new episode, reward 0.0
    and the info of ``reset``.

    Example:
        >>> env = Autoreset(ludus.make("CartPole-v1", max_episode_steps=2))
        >>> _ = env.reset(seed=0)
        >>> [env.step(0)[3] for _ in range(4)]
        [False, True, False, False]
    """

    state_fields = ("autoreset",)

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.autoreset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start a new episode now."""
        self.autoreset = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step, or reset if the episode ended in the step before."""
        if self.autoreset:
            observation, info = self.env.reset()
            self.autoreset = False
            return observation, 0.0, False, False, info
        result = self.env.step(action)
        self.autoreset = result[2] or result[3]
        return result
