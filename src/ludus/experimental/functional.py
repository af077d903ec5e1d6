"""Functional environments: pure functions of an explicit state."""

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
    """Base class of functional environments; each method is a pure function.

    Args:
        options: Attributes to set.
    """

    observation_space: Space[Any]
    action_space: Space[Any]

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self.__dict__.update(options or {})
        self.default_params = self.get_default_params()

    def initial(self, rng: Any, params: Params | None = None) -> StateType:
        """Return an initial state."""
        raise NotImplementedError

    def transition(
        self, state: StateType, action: ActType, rng: Any, params: Params | None = None
    ) -> StateType:
        """Return the next state."""
        raise NotImplementedError

    def observation(self, state: StateType, rng: Any, params: Params | None = None) -> ObsType:
        """Return the observation of a state."""
        raise NotImplementedError

    def reward(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        rng: Any,
        params: Params | None = None,
    ) -> RewardType:
        """Return the reward of a transition."""
        raise NotImplementedError

    def terminal(self, state: StateType, rng: Any, params: Params | None = None) -> TerminalType:
        """Return whether a state is terminal."""
        raise NotImplementedError

    def state_info(self, state: StateType, params: Params | None = None) -> dict[str, Any]:
        """Return the info about a state."""
        return {}

    def transition_info(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        params: Params | None = None,
    ) -> dict[str, Any]:
        """Return the info about a transition."""
        return {}

    def transform(self, func: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace every function of the environment by ``func(function)``, e.g. ``jax.jit``."""
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
        """Render a state; return the renderer's new state and the image."""
        raise NotImplementedError

    def render_init(self, params: Params | None = None, **kwargs: Any) -> RenderStateType:
        """Return the initial state of the renderer."""
        raise NotImplementedError

    def render_close(self, render_state: RenderStateType, params: Params | None = None) -> None:
        """Release the resources of the renderer."""
        raise NotImplementedError

    def get_default_params(self, **kwargs: Any) -> Params | None:
        """Return the default parameters."""
        return None
