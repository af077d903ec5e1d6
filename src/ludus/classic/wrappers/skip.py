"""Repeating actions."""

from __future__ import annotations

from typing import Any

from ludus.classic.wrapper import Wrapper

__all__ = ["SkipWrapper"]


def SkipWrapper(repeat_count: int) -> type[Wrapper]:  # noqa: N802 - classic Gym's name
    """Return a wrapper class that takes each action once and repeats it ``repeat_count`` times.

    Rewards add up, the end of the episode ends the repetition, and ``info["skip.stepcount"]``
    counts the steps since the reset.
    """

    class Skip(Wrapper):
        """Repeat actions."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.repeat_count = repeat_count
            self.stepcount = 0

        def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
            """Take the action and its repetitions."""
            total, done, taken = 0.0, False, 0
            observation, info = None, {}
            while taken < self.repeat_count + 1 and not done:
                observation, reward, done, info = self.env.step(action)
                total += reward
                taken += 1
            self.stepcount += taken
            info["skip.stepcount"] = self.stepcount
            return observation, total, done, info

        def reset(self, **kwargs: Any) -> Any:
            """Reset and count from zero."""
            self.stepcount = 0
            return self.env.reset(**kwargs)

    return Skip
