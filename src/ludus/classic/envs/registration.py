"""Registration and creation of environments with classic Gym's API.

The registry is that of Ludus: environments registered here are available to ``ludus.make``, and
vice versa.
"""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ludus import registration as modern
from ludus.classic.core import Env
from ludus.classic.error import DeprecatedEnv, Error
from ludus.classic.from_ludus import FromLudus
from ludus.classic.wrappers.own import OrderEnforcing, TimeLimit
from ludus.core import env as modern_env
from ludus.core import spec as modern_spec
from ludus.errors import VersionNotFound
from ludus.registration.entry_point import check_arguments, load_env_creator, resolve

__all__ = ["EnvRegistry", "EnvSpec", "make", "register", "registry", "spec"]

_ID = re.compile(r"(?:[\w:-]+/)?[\w:.-]+-v\d+")
_LIMIT_TAG = "wrapper_config.TimeLimit.max_episode_steps"


@dataclass(frozen=True)
class ClassicFields:
    """Fields of Gym's registration that a Ludus spec does not have."""

    tags: dict[str, Any] = field(default_factory=dict)
    trials: int = 100
    local_only: bool = False
    max_episode_seconds: float | None = None


@dataclass
class RegisteredSpec(modern_spec.EnvSpec):
    """Ludus spec of an environment that was registered with the classic API."""

    classic: ClassicFields = field(default_factory=ClassicFields, kw_only=True)


class EnvSpec:
    """Spec of a registered environment, with the attributes of Gym's specs.

    Args:
        registered: The spec in Ludus's registry.
        kwargs: Arguments of ``make``, which override the registered ones.
    """

    def __init__(
        self, registered: modern_spec.EnvSpec, kwargs: dict[str, Any] | None = None
    ) -> None:
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
        """Old name of ``max_episode_steps``."""
        return self.max_episode_steps

    def make(self, **kwargs: Any) -> Any:
        """Build the environment."""
        return make(self.id, **{**self.kwargs, **kwargs})

    def __repr__(self) -> str:
        return f"EnvSpec({self.id})"


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
    """Register an environment; an existing id is replaced with a warning.

    Args:
        id: ``[namespace/]Name-vN``; the version is required.
        entry_point: ``"module:name"`` or a callable that returns the environment.
        reward_threshold: Mean return at which the task counts as solved.
        nondeterministic: Whether the environment is nondeterministic even if seeded.
        max_episode_steps: Steps after which an episode is truncated.
        order_enforce: Whether ``step`` before ``reset`` raises an error.
        kwargs: Arguments of the entry point.
        tags: From the first versions of Gym: ``wrapper_config.TimeLimit.max_episode_steps`` sets
            the time limit, ``vnc`` disables it.
        timestep_limit: Old name of ``max_episode_steps``.
        max_episode_seconds: Seconds after which an episode is truncated.
        trials: Number of episodes of an evaluation; not used.
        local_only: Not used.

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
    limits = (max_episode_steps, timestep_limit, tags.get(_LIMIT_TAG))
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
        Error: The id is malformed.
        UnregisteredEnv: There is no environment of that name.
        DeprecatedEnv: The environment is registered with other versions only.
    """
    return EnvSpec(_find(id))


def make(id: str, **kwargs: Any) -> Env:
    """Build a registered environment with the classic API.

    It is wrapped in ``TimeLimit`` if its spec has a limit, else in ``OrderEnforcing``.

    Args:
        id: An id, or ``"module:id"`` to import a module first.
        **kwargs: Arguments of the environment; they override the registered ones.

    Raises:
        Error: As for :func:`spec`.
        InvalidArgument: The environment does not accept an argument.

    >>> env = make("CartPole-v1")
    >>> env.seed(0)
    [0]
    >>> observation = env.reset()
    >>> observation, reward, done, info = env.step(0)
    >>> reward, done, info
    (1.0, False, {})
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
    """Adapt a Ludus environment to the classic API; others are returned unchanged."""
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
        # Gym raised the same error for versions that are too new and too old.
        raise DeprecatedEnv(str(problem)) from problem


def _check_id(id: str) -> None:
    if not isinstance(id, str) or _ID.fullmatch(id) is None:
        raise Error(
            f"Attempted to look up malformed environment ID: {id!r}. Expected [namespace/]Name-vN "
            "with a version, for example 'CartPole-v1'."
        )


class EnvRegistry:
    """Ludus's registry with the methods of Gym's registry."""

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
