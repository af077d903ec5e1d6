"""Raises if ``step`` or ``render`` is called before ``reset``."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ludus.core import ActType, Env, EnvSpec, ObsType, RecordConstructorArgs, Wrapper
from ludus.errors import ResetNeeded
from ludus.wrappers.spec_changes import changed_spec

__all__ = ["OrderEnforcing"]


class OrderEnforcing(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Raise if ``step`` or, unless disabled, ``render`` is called before the first ``reset``."""

    state_fields = ("_has_reset",)

    def __init__(
        self, env: Env[ObsType, ActType], disable_render_order_enforcing: bool = False
    ) -> None:
        RecordConstructorArgs.__init__(
            self, disable_render_order_enforcing=disable_render_order_enforcing
        )
        super().__init__(env)
        self._has_reset = False
        self._disable_render_order_enforcing = disable_render_order_enforcing

    @property
    def has_reset(self) -> bool:
        """Whether the environment was ever reset."""
        return self._has_reset

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step.

        Raises:
            ResetNeeded: The environment was never reset.
        """
        if not self._has_reset:
            raise ResetNeeded(
                "Cannot call env.step() yet: there is no episode before calling env.reset()."
            )
        return self.env.step(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset."""
        self._has_reset = True
        return self.env.reset(seed=seed, options=options)

    def render(self) -> Any:
        """Render.

        Raises:
            ResetNeeded: The environment was never reset, and the order is enforced.
        """
        if not self._has_reset and not self._disable_render_order_enforcing:
            raise ResetNeeded(
                "Cannot call env.render() yet: there is no episode before calling env.reset(). If "
                "there is something to show, wrap with `disable_render_order_enforcing=True`."
            )
        return self.env.render()

    def _extended_spec(self) -> EnvSpec | None:
        return changed_spec(self.env.spec, order_enforce=True)
