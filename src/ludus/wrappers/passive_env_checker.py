"""Validates the spaces and the first calls of an environment."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ludus import logger
from ludus.checking.passive import (
    check_action_space,
    check_observation_space,
    env_data_reuse_passive_checker,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_step_passive_checker,
)
from ludus.core import ActType, Env, EnvSpec, ObsType, RecordConstructorArgs, Wrapper
from ludus.wrappers.common import changed_spec

__all__ = ["PassiveEnvChecker"]


class PassiveEnvChecker(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Check spaces at construction, and the first calls of ``reset``, ``step`` and ``render``.

    The first two steps are also checked for data that they share with the previous call: an
    observation must not change after it was returned. Results pass through unchanged.

    Raises:
        AttributeError: The environment has no action space or no observation space.
        TypeError: A space is not a space.
    """

    state_fields = ("checked_reset", "checked_step", "checked_render", "checked_data_reuse")

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        for kind, check in (
            ("action", check_action_space),
            ("observation", check_observation_space),
        ):
            if not hasattr(env, f"{kind}_space"):
                raise AttributeError(
                    f"{type(env).__name__} has no {kind}_space; an environment must specify an "
                    f"{kind} space, in __init__()."
                )
            check(getattr(env, f"{kind}_space"))
        self.checked_reset = False
        self.checked_step = False
        self.checked_render = False
        self.checked_data_reuse = False
        self.close_called = False
        self._previous_data: tuple[ObsType, dict[str, Any]] | None = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; the first two are checked."""
        if self.checked_data_reuse:
            return self.env.step(action)
        return self._step_and_check(action)

    def _step_and_check(
        self, action: ActType
    ) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        first = not self.checked_step
        self.checked_step = True
        result = env_step_passive_checker(self.env, action) if first else self.env.step(action)
        observation, _, _, _, info = result
        data = (observation, info)
        if self._previous_data is not None:
            source = "reset" if first else "step"
            env_data_reuse_passive_checker(self._previous_data, data, source, "step")
        self._previous_data = data if first else None
        self.checked_data_reuse = not first
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset; the first one is checked."""
        if self.checked_reset:
            return self.env.reset(seed=seed, options=options)
        self.checked_reset = True
        result = env_reset_passive_checker(self.env, seed=seed, options=options)
        if isinstance(result, tuple) and len(result) == 2:
            self._previous_data = result
        return result

    def render(self) -> Any:
        """Render; the first one is checked."""
        if self.checked_render:
            return self.env.render()
        self.checked_render = True
        return env_render_passive_checker(self.env)

    def close(self) -> None:
        """Close; warn if a second close is not harmless."""
        again = self.close_called
        self.close_called = True
        try:
            self.env.close()
        except Exception:  # the environment's own code; raised again
            if again:
                logger.warn(
                    "env.close() raised on a closed environment; closing it twice should be "
                    "allowed."
                )
            raise

    def _extended_spec(self) -> EnvSpec | None:
        return changed_spec(self.env.spec, disable_env_checker=False)

    def _load_state(self, fields: dict[str, Any]) -> None:
        super()._load_state(fields)
        # The previous call was made on another object, so there is nothing to compare with.
        self._previous_data = None
