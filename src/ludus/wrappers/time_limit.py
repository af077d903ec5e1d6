"""Truncates episodes after a number of steps."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ludus.core import ActType, Env, EnvSpec, ObsType, RecordConstructorArgs, Wrapper
from ludus.wrappers.spec_changes import changed_spec

__all__ = ["TimeLimit"]


class TimeLimit(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Truncate the episode at step ``max_episode_steps``, if it has not ended before.

    Raises:
        TypeError: ``max_episode_steps`` is not an int.
        ValueError: It is not positive.

    Example:
        >>> env = TimeLimit(ludus.make("CartPole-v1"), max_episode_steps=2)
        >>> observation, info = env.reset()
        >>> [env.step(0)[3] for _ in range(2)]
        [False, True]
    """

    state_fields = ("_elapsed_steps",)

    def __init__(self, env: Env[ObsType, ActType], max_episode_steps: int) -> None:
        if not isinstance(max_episode_steps, int):
            raise TypeError(
                f"`max_episode_steps` must be an integer, got {max_episode_steps!r} "
                f"({type(max_episode_steps)})."
            )
        if max_episode_steps <= 0:
            raise ValueError(
                f"`max_episode_steps` must be positive, got {max_episode_steps}: an episode has "
                "at least one step."
            )
        RecordConstructorArgs.__init__(self, max_episode_steps=max_episode_steps)
        super().__init__(env)
        self._max_episode_steps = max_episode_steps
        # None until the first reset, so that step() fails before it.
        self._elapsed_steps: int = None  # type: ignore[assignment]

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; ``truncated`` is true from step ``max_episode_steps`` on."""
        result = self.env.step(action)
        self._elapsed_steps = elapsed = self._elapsed_steps + 1
        if elapsed < self._max_episode_steps:
            return result
        observation, reward, terminated, _, info = result
        return observation, reward, terminated, True, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environment and the step count."""
        self._elapsed_steps = 0
        return self.env.reset(seed=seed, options=options)

    def _extended_spec(self) -> EnvSpec | None:
        return changed_spec(self.env.spec, max_episode_steps=self._max_episode_steps)
