"""Ludus environments in Gymnasium's registry, under the namespace ``ludus``.

Gymnasium looks for no entry points of installed packages (since 1.0), so something has to call
:func:`register_in_gymnasium`; importing :mod:`ludus.gymnasium` does. It enters names only: what
builds the environments loads when one is made.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.optional import require
from ludus.registration import registry
from ludus.registration.foreign import is_adopted
from ludus.research.task.bundled import bundled_env_ids

__all__ = ["register_in_gymnasium"]

NAMESPACE = "ludus"
BUILDERS = "ludus.interop.gymnasium.builders"
SHARED = frozenset({"ALE", "MinAtar", "phys2d", "tabular"})
"""Namespaces that other packages fill in Gymnasium's registry; their names are left to them."""


def register_in_gymnasium() -> None:
    """Enter every registered Ludus environment as ``ludus/<id>`` into Gymnasium's registry.

    The bundled research tasks are entered as ``mlgym/<id>-v0``.

    An id that has a namespace keeps it, but for those that another package has in Gymnasium too:
    ``ALE/Pong-v5`` becomes ``ludus/ALE-Pong-v5``. Ids that Gymnasium knows already are left alone,
    so a second call adds only what has been registered since.

    Raises:
        DependencyNotInstalled: Gymnasium is missing.
    """
    registration = require(
        "gymnasium.envs.registration", extra="gymnasium", purpose="Registering in Gymnasium"
    )
    for spec in list(registry.values()):
        target = _name_in_gymnasium(spec)
        if target not in registration.registry and not is_adopted(spec.id):
            _register(registration, target, spec)
    if registration.registry is not registry:
        _register_tasks(registration)


def _register_tasks(registration: Any) -> None:
    """Enter the research tasks that come with Ludus, whose specs are made when one is asked for."""
    for env_id in bundled_env_ids():
        if env_id not in registration.registry:
            _register(registration, env_id, EnvSpec(env_id, "", nondeterministic=True))


def _name_in_gymnasium(spec: EnvSpec) -> str:
    if spec.namespace is None or spec.namespace in SHARED:
        return f"{NAMESPACE}/{spec.id.replace('/', '-')}"
    return spec.id


def _register(registration: Any, target: str, spec: EnvSpec) -> None:
    if isinstance(spec, registration.EnvSpec):
        # Ludus is being served under Gymnasium's name: one registry, a second name.
        registry[target] = dataclasses.replace(spec, id=target)
        return
    registration.register(
        id=target,
        entry_point=f"{BUILDERS}:make_env" if spec.entry_point is not None else None,
        vector_entry_point=f"{BUILDERS}:make_vec_env",
        reward_threshold=spec.reward_threshold,
        nondeterministic=spec.nondeterministic,
        max_episode_steps=spec.max_episode_steps,
        order_enforce=spec.order_enforce,
        disable_env_checker=spec.disable_env_checker,
        kwargs={"ludus_id": spec.id},
    )
