"""Registration of environments."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, cast

from ludus import logger
from ludus.core.env import Env
from ludus.core.ids import get_env_id
from ludus.core.spec import EnvSpec, SecuritySpec, WrapperSpec
from ludus.errors import RegistrationError
from ludus.registration.table import check_can_register, registry
from ludus.served_names import ServedName, own_name

__all__ = ["add_spec", "namespace", "register", "register_envs"]

current_namespace: str | None = None
_from_plugin = False

SERVED = ("ale_py.env:AtariEnv",)
"""Entry points of packages on which Ludus's own environments are based."""


@contextlib.contextmanager
def namespace(ns: str | None) -> Iterator[None]:
    """Context manager that puts registered environments into a namespace."""
    global current_namespace
    before, current_namespace = current_namespace, ns
    try:
        yield
    finally:
        current_namespace = before


@contextlib.contextmanager
def plugin_registration() -> Iterator[None]:
    """Context manager for registrations by a plugin, which must not replace other specs."""
    global _from_plugin
    before, _from_plugin = _from_plugin, True
    try:
        yield
    finally:
        _from_plugin = before


def register_envs(env_module: ModuleType) -> None:  # noqa: ARG001 - named for its import
    """Add environments that an imported package registered in Gymnasium to the registry.

    ``make`` finds them without this call. Passing the module prevents linters from reporting its
    import as unused.
    """
    from ludus.registration.foreign import adopt_specs

    adopt_specs()


def register(
    id: str,
    entry_point: Callable[..., Env] | str | None = None,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    max_episode_steps: int | None = None,
    order_enforce: bool = True,
    disable_env_checker: bool = False,
    additional_wrappers: tuple[WrapperSpec, ...] = (),
    vector_entry_point: Callable[..., Any] | str | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    author: str | None = None,
    description: str | None = None,
    tags: Iterable[str] = (),
    family: str | None = None,
    homepage: str | None = None,
    licence: str | None = None,
    security: SecuritySpec | None = None,
) -> None:
    """Register an environment under ``[namespace/]name[-vN]``.

    Args:
        id: The id for ``make``.
        entry_point: ``"module:name"`` or a callable that returns the environment.
        reward_threshold: Mean return at which the task counts as solved.
        nondeterministic: Whether the environment is nondeterministic even if seeded.
        max_episode_steps: Steps after which an episode is truncated.
        order_enforce: Whether ``step`` before ``reset`` raises an error.
        disable_env_checker: Whether to disable the passive checks.
        additional_wrappers: Specs of wrappers that ``make`` adds.
        vector_entry_point: Like ``entry_point``, for a vector environment.
        kwargs: Arguments of the entry point.
        author: Author of the environment.
        description: One sentence, which ``search`` finds.
        tags: Tags for ``search``.
        family: Group in listings; by default the namespace or package.
        homepage: URL of the documentation.
        licence: SPDX identifier.
        security: Permissions that the code needs.

    Raises:
        Error: The id is malformed.
        RegistrationError: The spec conflicts with a registered one.
        ValueError: Neither entry point is given.

    >>> import ludus
    >>> register("docs/Pole-v0", "ludus.envs.classic_control:CartPoleEnv", max_episode_steps=50)
    >>> ludus.make("docs/Pole-v0").spec.max_episode_steps
    50
    >>> del ludus.registry["docs/Pole-v0"]
    """
    # The arguments are the fields of the spec.
    fields = dict(locals())
    _check_entry_points(id, entry_point, vector_entry_point)
    fields["kwargs"] = {} if kwargs is None else kwargs
    fields["security"] = security or SecuritySpec()
    fields["additional_wrappers"] = tuple(additional_wrappers)
    fields["tags"] = tuple(tags)
    add_spec(EnvSpec(**fields))


def _check_entry_points(id: str, single: Any, vector: Any) -> None:
    if single is None and vector is None:
        raise ValueError(
            f"Cannot register {id!r}: either `entry_point` or `vector_entry_point` (or both) must "
            "be provided, as 'module:name' or a callable."
        )


def add_spec(spec: EnvSpec) -> None:
    """Add a spec to the registry, in the current namespace.

    If a package on which an environment of Ludus is based registers the same environment with the
    same arguments, as ``import ale_py`` does under the import alias, Ludus's environment stays and
    only shows the package's entry point.

    Raises:
        RegistrationError: The spec conflicts with a registered one. A plugin may not replace a spec
            or claim to be built in.
    """
    limit = spec.max_episode_steps
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise RegistrationError(
            f"Cannot register {spec.id!r}: max_episode_steps is {limit!r}, expected a positive "
            "int, or None for no limit."
        )
    if current_namespace is not None:
        spec = dataclasses.replace(spec, id=get_env_id(current_namespace, spec.name, spec.version))
    check_can_register(spec)
    if _from_plugin:
        if spec.id in registry:
            raise RegistrationError(
                f"{spec.id!r} is registered already; plugins may not replace it"
            )
        if spec.security.trust == "builtin":
            raise RegistrationError(f"{spec.id!r} claims trust='builtin', which only Ludus may")
    elif spec.id in registry:
        known = registry[spec.id]
        if _is_served(spec, known):
            shown = ServedName.of(str(spec.entry_point), own_name(cast("str", known.entry_point)))
            registry[spec.id] = dataclasses.replace(known, entry_point=shown)
            return
        logger.warn(f"Overriding environment {spec.id} already in registry.", stacklevel=3)
    registry[spec.id] = spec


def _is_served(spec: EnvSpec, known: EnvSpec) -> bool:
    same = spec.entry_point in SERVED and spec.kwargs == known.kwargs
    return same and known.security.trust == "builtin"
