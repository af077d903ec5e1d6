"""Repeats each action several times."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.wrappers.arguments import check_count

__all__ = ["RepeatAction"]


class RepeatAction(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Take every action ``num_repeats`` times, or until the episode ends; sum the rewards.

    Raises:
        TypeError: ``num_repeats`` is not an integer.
        ValueError: It is below one.
    """

    state_fields = ()

    def __init__(self, env: Env[ObsType, ActType], num_repeats: int) -> None:
        check_count("num_repeats", num_repeats, at_least=1)
        RecordConstructorArgs.__init__(self, num_repeats=num_repeats)
        super().__init__(env)
        self.num_repeats = num_repeats

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Repeat the action; observation, flags and info are those of the last repetition."""
        total = 0.0
        for _ in range(self.num_repeats):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += reward if type(reward) is float else float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info
