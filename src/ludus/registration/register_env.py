"""Adding environments to the registry."""

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
"""Entry points under which packages that Ludus's own environments run on register the same."""


@contextlib.contextmanager
def namespace(ns: str | None) -> Iterator[None]:
    """Put everything registered inside the block into one namespace."""
    global current_namespace
    before, current_namespace = current_namespace, ns
    try:
        yield
    finally:
        current_namespace = before


@contextlib.contextmanager
def plugin_registration() -> Iterator[None]:
    """Mark registrations inside the block as a plugin's: they may not replace other specs."""
    global _from_plugin
    before, _from_plugin = _from_plugin, True
    try:
        yield
    finally:
        _from_plugin = before


def register_envs(env_module: ModuleType) -> None:  # noqa: ARG001 - named for its import
    """Show in the registry what a package has registered in Gymnasium when it was imported.

    ``make`` finds these environments without it. Passing the module keeps linters from calling
    its import unused.
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
        id: The id that ``make`` takes.
        entry_point: ``"module:name"`` or a callable that returns the environment.
        reward_threshold: Mean return at which the task counts as solved.
        nondeterministic: Whether seed and actions leave the outcome open.
        max_episode_steps: Steps after which ``make``'s time limit truncates.
        order_enforce: Whether ``make`` refuses ``step`` before ``reset``.
        disable_env_checker: Whether ``make`` leaves out the passive checks.
        additional_wrappers: Specs of wrappers that ``make`` adds.
        vector_entry_point: Like ``entry_point``, for a vector environment of its own.
        kwargs: Arguments for the entry point.
        author: Who wrote it.
        description: One sentence, found by ``search``.
        tags: Words to filter by.
        family: The group it belongs to, by default its namespace or package.
        homepage: Where to read more.
        licence: SPDX identifier.
        security: What its code needs from the machine.

    Raises:
        Error: The id is malformed.
        RegistrationError: The spec contradicts a registered one.
        ValueError: Neither entry point is given.
    """
    # The arguments are the fields of the spec; only empty and iterable ones need a hand.
    fields = dict(locals())
    if entry_point is None and vector_entry_point is None:
        raise ValueError(
            f"Cannot register {id!r}: either `entry_point` or `vector_entry_point` (or both) must "
            "be provided, as 'module:name' or a callable."
        )
    fields["kwargs"] = {} if kwargs is None else kwargs
    fields["additional_wrappers"] = tuple(additional_wrappers)
    fields["tags"] = tuple(tags)
    fields["security"] = security or SecuritySpec()
    add_spec(EnvSpec(**fields))


def add_spec(spec: EnvSpec) -> None:
    """Enter a spec into the registry, inside the current namespace if there is one.

    An environment that Ludus has already, arguments included, stays Ludus's when the package that
    it runs on registers it, and only shows that package's entry point: ``import ale_py`` registers
    so where Ludus is served as Gymnasium.

    Raises:
        RegistrationError: The spec contradicts a registered one or, coming from a plugin, would
            replace one or claim to be built in.
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
            raise RegistrationError(f"{spec.id!r} claims trust='builtin'; only Ludus itself may")
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
