"""Actions through a function."""

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

# Gymnasium's module holds these, too; here they have files of their own.
_GATHERED = ("ClipAction", "DiscretizeAction", "RescaleAction")
__getattr__ = lazy_attributes(__name__, dict.fromkeys(_GATHERED, "ludus.wrappers"))


class TransformAction(
    FunctionInPlace, ActionWrapper[ObsType, WrapperActType, ActType], RecordConstructorArgs
):
    """Pass every action through ``func``.

    Args:
        env: The environment.
        func: From an outer action to an inner one. It must keep nothing between calls: what it
            keeps is not part of the wrapper's state.
        action_space: The space of the actions to take; ``None`` if it is the inner one.
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
