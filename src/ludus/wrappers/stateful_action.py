"""Wrappers that repeat actions."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ludus.core import ActionWrapper, ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.errors import InvalidBound, InvalidProbability
from ludus.wrappers.utils import check_count

__all__ = ["RepeatAction", "StickyAction"]


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


class StickyAction(ActionWrapper[ObsType, ActType, ActType], RecordConstructorArgs):
    """Take the previous action instead of the given one, with a given probability.

    It is then repeated ``repeat_action_duration`` times: a number, or a pair of inclusive bounds
    between which a number is drawn. Random numbers come from the environment's ``np_random``.

    Raises:
        InvalidProbability: The probability is not in [0, 1).
        InvalidBound: The first bound exceeds the second.
        ValueError: The duration is neither an int nor a pair of ints, or is below one.
    """

    state_fields = ("last_action", "is_sticky_actions", "num_repeats", "repeats_taken")

    def __init__(
        self,
        env: Env[ObsType, ActType],
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        if not 0 <= repeat_action_probability < 1:
            raise InvalidProbability(
                "`repeat_action_probability` must lie in the interval [0,1), got "
                f"{repeat_action_probability}."
            )
        duration_range = _duration_range(repeat_action_duration)
        RecordConstructorArgs.__init__(
            self,
            repeat_action_probability=repeat_action_probability,
            repeat_action_duration=repeat_action_duration,
        )
        super().__init__(env)
        self.repeat_action_probability = repeat_action_probability
        self.repeat_action_duration_range = duration_range
        self._release()

    def _release(self) -> None:
        self.last_action: ActType | None = None
        self.is_sticky_actions = False
        self.num_repeats = 0
        self.repeats_taken = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; the first action of an episode is always the given one."""
        self._release()
        return self.env.reset(seed=seed, options=options)

    def action(self, action: ActType) -> ActType:
        """Return the given action or the previous one."""
        if self.is_sticky_actions or (
            self.last_action is not None
            and self.np_random.random() < self.repeat_action_probability
        ):
            if self.num_repeats == 0:
                low, high = self.repeat_action_duration_range
                self.num_repeats = int(self.np_random.integers(low, high + 1))
            action = self.last_action  # type: ignore[assignment]
            self.repeats_taken += 1
            self.is_sticky_actions = self.repeats_taken < self.num_repeats
            if not self.is_sticky_actions:
                self.num_repeats = self.repeats_taken = 0
        self.last_action = action
        return action


def _duration_range(duration: int | tuple[int, int]) -> tuple[int, int]:
    bounds = (duration, duration) if isinstance(duration, int) else duration
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise ValueError(
            "`repeat_action_duration` must be an integer or a tuple of two, the bounds of a "
            f"random one; got {duration!r}."
        )
    if bounds[0] > bounds[1]:
        raise InvalidBound(
            f"`repeat_action_duration` is not a valid bound: {bounds[0]} exceeds {bounds[1]}."
        )
    if bounds[0] < 1:
        raise ValueError(f"`repeat_action_duration` must be at least 1 step, got {duration!r}.")
    return bounds
