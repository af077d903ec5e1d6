"""Rewards through a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, RewardWrapper
from ludus.lazy import lazy_attributes
from ludus.wrappers.function_in_place import FunctionInPlace, calls_func

__all__ = ["TransformReward"]

# Gymnasium's module holds these, too; here they have files of their own.
_GATHERED = ("ClipReward",)
__getattr__ = lazy_attributes(__name__, dict.fromkeys(_GATHERED, "ludus.wrappers"))


class TransformReward(FunctionInPlace, RewardWrapper[ObsType, ActType], RecordConstructorArgs):
    """Pass every reward through ``func``.

    Args:
        env: The environment.
        func: From an inner reward to an outer one. It must keep nothing between calls: what it
            keeps is not part of the wrapper's state.
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
