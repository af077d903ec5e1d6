"""Applies a function to rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, RewardWrapper
from ludus.lazy import lazy_attributes
from ludus.wrappers.function_in_place import FunctionInPlace, calls_func

__all__ = ["TransformReward"]

# Gymnasium's module of this name also has this wrapper.
_GATHERED = ("ClipReward",)
__getattr__ = lazy_attributes(__name__, dict.fromkeys(_GATHERED, "ludus.wrappers"))


class TransformReward(FunctionInPlace, RewardWrapper[ObsType, ActType], RecordConstructorArgs):
    """Apply ``func`` to every reward.

    Args:
        env: The environment.
        func: From an inner reward to an outer one. It must be stateless: its state would not be
            saved with the wrapper's.

    Example:
        >>> env = TransformReward(ludus.make("CartPole-v1"), lambda reward: 0.1 * reward)
        >>> _ = env.reset(seed=0)
        >>> env.step(0)[1]
        0.1
    """

    state_fields = ()
    calling_method = "reward"

    def __init__(self, env: Env[ObsType, ActType], func: Callable[[Any], SupportsFloat]) -> None:
        RecordConstructorArgs.__init__(self, func=func)
        super().__init__(env)
        self.func = func

    @calls_func
    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Return ``func(reward)``."""
        return self.func(reward)  # type: ignore[no-any-return]
