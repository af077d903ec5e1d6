"""Environments as pure functions over an explicit state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from ludus.core.types import ActType, ObsType
from ludus.spaces import Space

__all__ = ["FuncEnv"]

StateType = TypeVar("StateType", default=Any)
RewardType = TypeVar("RewardType", default=Any)
TerminalType = TypeVar("TerminalType", default=Any)
RenderStateType = TypeVar("RenderStateType", default=Any)
Params = TypeVar("Params", default=Any)


class FuncEnv(
    Generic[StateType, ObsType, ActType, RewardType, TerminalType, RenderStateType, Params]
):
    """A stateless environment: each method is a function of its arguments alone.

    Args:
        options: Set as attributes of the object.
    """

    observation_space: Space[Any]
    action_space: Space[Any]

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self.__dict__.update(options or {})
        self.default_params = self.get_default_params()

    def initial(self, rng: Any, params: Params | None = None) -> StateType:
        """Return a state to start an episode from."""
        raise NotImplementedError

    def transition(
        self, state: StateType, action: ActType, rng: Any, params: Params | None = None
    ) -> StateType:
        """Return the state that follows."""
        raise NotImplementedError

    def observation(self, state: StateType, rng: Any, params: Params | None = None) -> ObsType:
        """Return what the agent sees of a state."""
        raise NotImplementedError

    def reward(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        rng: Any,
        params: Params | None = None,
    ) -> RewardType:
        """Return the reward for a transition."""
        raise NotImplementedError

    def terminal(self, state: StateType, rng: Any, params: Params | None = None) -> TerminalType:
        """Tell whether the episode ends in a state."""
        raise NotImplementedError

    def state_info(self, state: StateType, params: Params | None = None) -> dict[str, Any]:
        """Return further information about a state."""
        return {}

    def transition_info(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        params: Params | None = None,
    ) -> dict[str, Any]:
        """Return further information about a transition."""
        return {}

    def transform(self, func: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace every function of the environment by ``func(function)``, e.g. a compiler's."""
        for name in (
            "initial",
            "transition",
            "observation",
            "reward",
            "terminal",
            "state_info",
            "transition_info",
        ):
            setattr(self, name, func(getattr(self, name)))

    def render_image(
        self, state: StateType, render_state: RenderStateType, params: Params | None = None
    ) -> tuple[RenderStateType, Any]:
        """Draw a state; return the renderer's new state and the picture."""
        raise NotImplementedError

    def render_init(self, params: Params | None = None, **kwargs: Any) -> RenderStateType:
        """Return a renderer's first state."""
        raise NotImplementedError

    def render_close(self, render_state: RenderStateType, params: Params | None = None) -> None:
        """Release what the renderer holds."""
        raise NotImplementedError

    def get_default_params(self, **kwargs: Any) -> Params | None:
        """Return the parameters used when a call gives none."""
        return None
