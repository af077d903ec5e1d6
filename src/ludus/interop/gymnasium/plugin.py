"""Ludus environments in Gymnasium's registry, under the namespace ``ludus``.

Gymnasium looks for no entry points of installed packages (since 1.0), so something has to call
:func:`register_in_gymnasium`: the user, an import hook
(:mod:`ludus.interop.gymnasium.import_hook`), or an older Gymnasium through the entry-point group
``gymnasium.envs``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.interop.gymnasium.library import gymnasium
from ludus.interop.gymnasium.specs import LudusEntryPoint
from ludus.interop.gymnasium.vector_adapter import to_autoreset_mode, to_gymnasium_vector
from ludus.registration import find_spec, make_vec, registry

__all__ = ["make_env", "make_vec_env", "register_in_gymnasium"]

NAMESPACE = "ludus"


def register_in_gymnasium() -> None:
    """Enter every registered Ludus environment as ``ludus/<id>`` into Gymnasium's registry.

    An id that has a namespace keeps it. Ids that Gymnasium knows already are left alone, so a
    second call adds only what has been registered since.
    """
    known = gymnasium.envs.registration.registry
    for spec in list(registry.values()):
        target = spec.id if spec.namespace else f"{NAMESPACE}/{spec.id}"
        if target not in known:
            _register(target, spec)


def _register(target: str, spec: EnvSpec) -> None:
    if isinstance(spec, gymnasium.envs.registration.EnvSpec):
        # Ludus is being served under Gymnasium's name: one registry, a second name.
        registry[target] = dataclasses.replace(spec, id=target)
        return
    gymnasium.register(
        id=target,
        entry_point=f"{__name__}:make_env" if spec.entry_point is not None else None,
        vector_entry_point=f"{__name__}:make_vec_env",
        reward_threshold=spec.reward_threshold,
        nondeterministic=spec.nondeterministic,
        max_episode_steps=spec.max_episode_steps,
        order_enforce=spec.order_enforce,
        disable_env_checker=spec.disable_env_checker,
        kwargs={"ludus_id": spec.id},
    )


def make_env(ludus_id: str, **kwargs: Any) -> Any:
    """Build a Ludus environment for Gymnasium: the entry point of every registered id."""
    spec = find_spec(ludus_id)
    return LudusEntryPoint(spec)(**{**spec.kwargs, **kwargs})


def make_vec_env(ludus_id: str, num_envs: int = 1, **kwargs: Any) -> Any:
    """Build a Ludus vector environment for Gymnasium: the vector entry point of every id."""
    kwargs = {name: to_autoreset_mode(value) for name, value in kwargs.items()}
    return to_gymnasium_vector(make_vec(ludus_id, num_envs=num_envs, **kwargs))
