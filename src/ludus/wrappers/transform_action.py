"""Applies a function to actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core import (
    ActionWrapper,
    ActType,
    Env,
    ObsType,
    RecordConstructorArgs,
    WrapperActType,
)
from ludus.lazy import lazy_attributes
from ludus.spaces import Space
from ludus.wrappers.function_in_place import FunctionInPlace, calls_func

__all__ = ["TransformAction"]

# Gymnasium's module of this name also has these wrappers.
_GATHERED = ("ClipAction", "DiscretizeAction", "RescaleAction")
__getattr__ = lazy_attributes(__name__, dict.fromkeys(_GATHERED, "ludus.wrappers"))


class TransformAction(
    FunctionInPlace, ActionWrapper[ObsType, WrapperActType, ActType], RecordConstructorArgs
):
    """Apply ``func`` to every action.

    Args:
        env: The environment.
        func: From an outer action to an inner one. It must be stateless: its state would not be
            saved with the wrapper's.
        action_space: The new action space; ``None`` keeps the inner one.

    Example:
        >>> env = TransformAction(ludus.make("CartPole-v1"), lambda action: 1 - action, None)
        >>> env.action(0)
        1
    """

    state_fields = ()
    calling_method = "action"

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[WrapperActType] | None,
    ) -> None:
        RecordConstructorArgs.__init__(self, func=func, action_space=action_space)
        super().__init__(env)
        if action_space is not None:
            self.action_space = action_space
        self.func = func

    @calls_func
    def action(self, action: WrapperActType) -> Any:
        """Return ``func(action)``."""
        return self.func(action)
