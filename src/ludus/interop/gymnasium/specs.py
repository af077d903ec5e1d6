"""Conversion of specs; either library can build environments from a converted spec."""

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


def _to_build(spec: Any) -> Any:
    """Return a spec without its kwargs, and without the standard wrappers: ``make`` adds both.

    Additional wrappers go around the standard ones, so a spec that has some keeps them.
    """
    return dataclasses.replace(spec, kwargs={}, **({} if spec.additional_wrappers else _BARE))


@dataclasses.dataclass(frozen=True)
class LudusEntryPoint:
    """Builds the environment of a Ludus spec for ``gymnasium.make``."""

    spec: EnvSpec

    def __call__(self, **kwargs: Any) -> Any:
        """Build the environment."""
        from ludus.interop.gymnasium.adapter import to_gymnasium

        return to_gymnasium(make(_to_build(self.spec), **kwargs))


@dataclasses.dataclass(frozen=True)
class GymnasiumEntryPoint:
    """Builds the environment of a Gymnasium spec for ``ludus.make``."""

    spec: Any

    def __call__(self, **kwargs: Any) -> Any:
        """Build the environment."""
        from ludus.interop.gymnasium.adapter import from_gymnasium

        return from_gymnasium(gymnasium.make(_to_build(self.spec), **kwargs))


def to_gymnasium_spec(spec: EnvSpec) -> Any:
    """Return a Gymnasium spec from which ``gymnasium.make`` builds the same environment.

    The entry point of the new spec applies the recorded wrappers.
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
    """Return the spec of an adapted Gymnasium environment as ``gymnasium.make`` would set it."""
    return gymnasium.envs.registration.EnvSpec(
        **{name: getattr(spec, name) for name in (*_SHARED, "entry_point", "vector_entry_point")},
        kwargs=copy.deepcopy(spec.kwargs),
    )


def from_gymnasium_spec(spec: Any) -> EnvSpec:
    """Return a Ludus spec from which ``ludus.make`` builds the same environment.

    The entry point of the new spec applies the recorded wrappers.
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
