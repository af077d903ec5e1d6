"""Registering and building environments behind the classic contract.

There is one registry, Ludus's: what is registered here can be built with ``ludus.make`` and the
other way round.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

from ludus import registration as modern
from ludus.classic.env import Env
from ludus.classic.envs.spec import LIMIT_TAG, ClassicFields, EnvSpec, RegisteredSpec
from ludus.classic.error import DeprecatedEnv, Error
from ludus.classic.from_ludus import FromLudus
from ludus.classic.wrappers.order_enforcing import OrderEnforcing
from ludus.classic.wrappers.time_limit import TimeLimit
from ludus.core import env as modern_env
from ludus.core import spec as modern_spec
from ludus.errors import VersionNotFound
from ludus.registration.entry_point import check_arguments, load_env_creator, resolve

__all__ = ["EnvRegistry", "EnvSpec", "make", "register", "registry", "spec"]

_ID = re.compile(r"(?:[\w:-]+/)?[\w:.-]+-v\d+")


def register(
    id: str,
    entry_point: Any = None,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    max_episode_steps: int | None = None,
    order_enforce: bool = True,
    kwargs: dict[str, Any] | None = None,
    *,
    tags: dict[str, Any] | None = None,
    timestep_limit: int | None = None,
    max_episode_seconds: float | None = None,
    trials: int = 100,
    local_only: bool = False,
) -> None:
    """Register an environment; ids need a version, and a registered id is replaced with a warning.

    Args:
        id: ``[namespace/]Name-vN``.
        entry_point: ``"module:name"`` or a callable that returns the environment.
        reward_threshold: Mean return at which the task counts as solved.
        nondeterministic: Whether seed and actions leave the outcome open.
        max_episode_steps: Steps after which ``make``'s time limit ends an episode.
        order_enforce: Whether ``make`` refuses ``step`` before ``reset``.
        kwargs: Arguments for the entry point.
        tags: Of the first versions: ``wrapper_config.TimeLimit.max_episode_steps`` sets the
            limit, ``vnc`` switches it off.
        timestep_limit: First name of ``max_episode_steps``.
        max_episode_seconds: Seconds after which the time limit ends an episode.
        trials: How many episodes an evaluation takes; descriptive.
        local_only: Descriptive.

    Raises:
        Error: The id is malformed, or the entry point is missing.
    """
    _check_id(id)
    if entry_point is None:
        raise Error(
            f"Attempted to register {id!r} without an entry point: deprecated environments cannot "
            "be registered. Pass entry_point='module:name' or a callable."
        )
    tags = tags or {}
    limits = (max_episode_steps, timestep_limit, tags.get(LIMIT_TAG))
    modern.add_spec(
        RegisteredSpec(
            id=id,
            entry_point=entry_point,
            reward_threshold=reward_threshold,
            nondeterministic=nondeterministic,
            max_episode_steps=next((limit for limit in limits if limit is not None), None),
            order_enforce=order_enforce,
            disable_env_checker=True,
            kwargs=dict(kwargs or {}),
            tags=tuple(tags),
            classic=ClassicFields(tags, trials, local_only, max_episode_seconds),
        )
    )


def spec(id: str) -> EnvSpec:
    """Return the spec of a registered id.

    Raises:
        Error: The id is malformed; ``UnregisteredEnv``: no environment of that name;
            ``DeprecatedEnv``: it is there, but in other versions.
    """
    return EnvSpec(_find(id))


def make(id: str, **kwargs: Any) -> Env:
    """Build a registered environment behind the classic contract.

    It comes in a time limit if its spec has one, else in a check of the order of calls.

    Args:
        id: An id, or ``"module:id"`` to import a module first.
        **kwargs: Arguments of the environment; they override the registered ones.

    Raises:
        Error: As for :func:`spec`.
        InvalidArgument: A keyword does not fit the environment's signature.
    """
    module, colon, name = id.partition(":")
    if colon:
        importlib.import_module(module)
    found = _find(name if colon else id)
    shown = EnvSpec(found, kwargs)
    creator = resolve(found.id, found.entry_point)
    check_arguments(found.id, creator, shown.kwargs)
    env = _classic(creator(**shown.kwargs), found)
    env.unwrapped.spec = shown
    if "vnc" not in shown.tags:
        if shown.max_episode_steps is not None or shown.max_episode_seconds is not None:
            return TimeLimit(
                env, shown.max_episode_steps, max_episode_seconds=shown.max_episode_seconds
            )
        if shown.order_enforce:
            return OrderEnforcing(env)
    return env  # type: ignore[no-any-return]


def _classic(env: Any, found: modern_spec.EnvSpec) -> Any:
    """Return what an entry point built as a classic environment."""
    if not isinstance(env, modern_env.Env):
        return env
    env.unwrapped.spec = found
    for wrapper in found.additional_wrappers:
        env = load_env_creator(wrapper.entry_point)(env=env, **(wrapper.kwargs or {}))
    return FromLudus(env)


def _find(id: str) -> modern_spec.EnvSpec:
    _check_id(id)
    try:
        return modern.spec(id)
    except VersionNotFound as problem:
        # Classic Gym did not tell a version that is too new from one that is too old.
        raise DeprecatedEnv(str(problem)) from problem


def _check_id(id: str) -> None:
    if not isinstance(id, str) or _ID.fullmatch(id) is None:
        raise Error(
            f"Attempted to look up malformed environment ID: {id!r}. Expected [namespace/]Name-vN "
            "with a version, for example 'CartPole-v1'."
        )


class EnvRegistry:
    """Ludus's registry with the methods of classic Gym's."""

    def all(self) -> list[EnvSpec]:
        """Return the specs of all environments."""
        return list(self.env_specs.values())

    @property
    def env_specs(self) -> dict[str, EnvSpec]:
        """The specs by id."""
        return {key: EnvSpec(value) for key, value in modern.registry.items()}

    def make(self, path: str, **kwargs: Any) -> Env:
        """Build an environment, as :func:`make` does."""
        return make(path, **kwargs)

    def spec(self, path: str) -> EnvSpec:
        """Return the spec of an id, as :func:`spec` does."""
        return spec(path)

    def register(self, id: str, **kwargs: Any) -> None:
        """Register an environment, as :func:`register` does."""
        register(id, **kwargs)

    def __iter__(self) -> Iterator[str]:
        return iter(modern.registry)

    def __len__(self) -> int:
        return len(modern.registry)

    def __contains__(self, id: object) -> bool:
        return id in modern.registry


registry = EnvRegistry()
