"""Specs as classic Gym showed them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ludus.core import spec as modern

__all__ = ["ClassicFields", "EnvSpec", "RegisteredSpec"]

LIMIT_TAG = "wrapper_config.TimeLimit.max_episode_steps"


@dataclass(frozen=True)
class ClassicFields:
    """What a registration of classic Gym could say and a Ludus spec cannot."""

    tags: dict[str, Any] = field(default_factory=dict)
    trials: int = 100
    local_only: bool = False
    max_episode_seconds: float | None = None


@dataclass
class RegisteredSpec(modern.EnvSpec):
    """The Ludus spec of an environment that was registered through the classic interface."""

    classic: ClassicFields = field(default_factory=ClassicFields, kw_only=True)


class EnvSpec:
    """A registered environment, with the attributes of classic Gym's specs.

    Args:
        registered: The spec in Ludus's registry.
        kwargs: Arguments of ``make``, which override the registered ones.
    """

    def __init__(self, registered: modern.EnvSpec, kwargs: dict[str, Any] | None = None) -> None:
        extra = registered.classic if isinstance(registered, RegisteredSpec) else ClassicFields()
        self.id = registered.id
        self.entry_point = registered.entry_point
        self.reward_threshold = registered.reward_threshold
        self.nondeterministic = registered.nondeterministic
        self.max_episode_steps = registered.max_episode_steps
        self.order_enforce = registered.order_enforce
        self.kwargs = {**copy.deepcopy(registered.kwargs), **(kwargs or {})}
        self.tags = dict(extra.tags)
        self.trials = extra.trials
        self.local_only = extra.local_only
        self.max_episode_seconds = extra.max_episode_seconds

    @property
    def _kwargs(self) -> dict[str, Any]:
        return self.kwargs

    @property
    def timestep_limit(self) -> int | None:
        """The time limit under its first name."""
        return self.max_episode_steps

    def make(self, **kwargs: Any) -> Any:
        """Build the environment."""
        from ludus.classic.envs.registration import make

        return make(self.id, **{**self.kwargs, **kwargs})

    def __repr__(self) -> str:
        return f"EnvSpec({self.id})"
