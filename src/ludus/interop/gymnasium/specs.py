"""Specs, converted between the two libraries; either library can build from a converted spec."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from ludus.core.spec import EnvSpec, WrapperSpec
from ludus.interop.gymnasium.library import gymnasium
from ludus.registration import make

__all__ = [
    "GymnasiumEntryPoint",
    "LudusEntryPoint",
    "copied_to_gymnasium",
    "from_gymnasium_spec",
    "to_gymnasium_spec",
]

_SHARED = (
    "id",
    "reward_threshold",
    "nondeterministic",
    "max_episode_steps",
    "order_enforce",
    "disable_env_checker",
)

_BARE: dict[str, Any] = {
    "max_episode_steps": None,
    "order_enforce": False,
    "disable_env_checker": True,
}


@dataclasses.dataclass(frozen=True)
class LudusEntryPoint:
    """Builds the environment of a Ludus spec for Gymnasium."""

    spec: EnvSpec

    def __call__(self, **kwargs: Any) -> Any:
        """Build it, leaving the standard wrappers to the caller, ``gymnasium.make``.

        With additional wrappers in the spec the standard ones belong inside them, so all are
        applied here.
        """
        from ludus.interop.gymnasium.adapter import to_gymnasium

        spec = dataclasses.replace(self.spec, kwargs={})
        if not spec.additional_wrappers:
            spec = dataclasses.replace(spec, **_BARE)
        return to_gymnasium(make(spec, **kwargs))


@dataclasses.dataclass(frozen=True)
class GymnasiumEntryPoint:
    """Builds the environment of a Gymnasium spec for Ludus."""

    spec: Any

    def __call__(self, **kwargs: Any) -> Any:
        """Build it, leaving the standard wrappers to the caller, ``ludus.make``."""
        from ludus.interop.gymnasium.adapter import from_gymnasium

        spec = dataclasses.replace(self.spec, kwargs={})
        if not spec.additional_wrappers:
            spec = dataclasses.replace(spec, **_BARE)
        return from_gymnasium(gymnasium.make(spec, **kwargs))


def to_gymnasium_spec(spec: EnvSpec) -> Any:
    """Return a Gymnasium spec from which ``gymnasium.make`` builds the same environment.

    Wrappers that the spec records are applied by its entry point, not by Gymnasium.
    """
    if isinstance(spec, gymnasium.envs.registration.EnvSpec):
        return spec
    if isinstance(spec.entry_point, GymnasiumEntryPoint):
        return spec.entry_point.spec
    return gymnasium.envs.registration.EnvSpec(
        **{name: getattr(spec, name) for name in _SHARED},
        entry_point=LudusEntryPoint(spec),
        kwargs=copy.deepcopy(spec.kwargs),
    )


def copied_to_gymnasium(spec: EnvSpec) -> Any:
    """Return the spec of an environment that is Gymnasium's own as Gymnasium's ``make`` has it."""
    return gymnasium.envs.registration.EnvSpec(
        **{name: getattr(spec, name) for name in (*_SHARED, "entry_point", "vector_entry_point")},
        kwargs=copy.deepcopy(spec.kwargs),
    )


def from_gymnasium_spec(spec: Any) -> EnvSpec:
    """Return a Ludus spec from which ``ludus.make`` builds the same environment.

    Wrappers that the spec records are applied by its entry point, not by Ludus.
    """
    if isinstance(spec, EnvSpec):
        return spec
    if isinstance(spec.entry_point, LudusEntryPoint):
        inner = spec.entry_point.spec
        around = tuple(WrapperSpec(**vars(wrapper)) for wrapper in spec.additional_wrappers)
        return dataclasses.replace(inner, additional_wrappers=(*inner.additional_wrappers, *around))
    return EnvSpec(
        **{name: getattr(spec, name) for name in _SHARED},
        entry_point=GymnasiumEntryPoint(spec),
        kwargs=copy.deepcopy(spec.kwargs),
    )
