"""Registration of the Ludus environments in Gymnasium, in the namespace ``ludus``.

Gymnasium 1.0 and later loads no plugins, so :func:`register_in_gymnasium` has to be called;
importing :mod:`ludus.gymnasium` does that. Environments are imported when they are made.
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
"""Namespaces that other packages use in Gymnasium's registry."""


def register_in_gymnasium() -> None:
    """Register every Ludus environment as ``ludus/<id>`` in Gymnasium.

    Bundled research tasks are registered as ``mlgym/<id>-v0``. An id with a namespace keeps it,
    unless other packages use the namespace in Gymnasium: ``ALE/Pong-v5`` becomes
    ``ludus/ALE-Pong-v5``. Existing ids are not replaced, so a second call adds only new ones.

    Raises:
        DependencyNotInstalled: Gymnasium is missing.

    >>> import gymnasium
    >>> register_in_gymnasium()
    >>> env = gymnasium.make("ludus/CartPole-v1")
    >>> env.observation_space.shape
    (4,)
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
    """Register the bundled research tasks, whose specs are created on demand."""
    for env_id in bundled_env_ids():
        if env_id not in registration.registry:
            _register(registration, env_id, EnvSpec(env_id, "", nondeterministic=True))


def _name_in_gymnasium(spec: EnvSpec) -> str:
    if spec.namespace is None or spec.namespace in SHARED:
        return f"{NAMESPACE}/{spec.id.replace('/', '-')}"
    return spec.id


def _register(registration: Any, target: str, spec: EnvSpec) -> None:
    if isinstance(spec, registration.EnvSpec):
        # The alias is installed, so both registries are the same.
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
