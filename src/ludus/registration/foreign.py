"""Environments that other packages register in Gymnasium.

Such a package calls ``gymnasium.register`` when it is imported. This module imports nothing: if
Gymnasium is not imported, nothing is registered in it. Ids of Ludus are never replaced. An adopted
spec is a copy of Gymnasium's, with the trust level of a plugin; ``make`` calls its entry point and
adapts the environment.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ludus.core.foreign.env import loaded_gymnasium
from ludus.core.spec import EnvSpec, WrapperSpec
from ludus.errors import Error
from ludus.registration.table import check_can_register, registry

__all__ = ["adopt_specs", "as_spec", "is_adopted", "module_named_by", "packages_to_import"]

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "gymnasium.envs"
"""The entry-point group of Gymnasium's plugins."""

ROOT = "__root__"
_NEEDLESS = frozenset({"GymV21Environment-v0", "GymV26Environment-v0"})
"""Gymnasium's adapters for classic Gym; Ludus adapts such environments itself."""

_COPIED = (
    "id",
    "entry_point",
    "reward_threshold",
    "nondeterministic",
    "max_episode_steps",
    "order_enforce",
    "disable_env_checker",
    "vector_entry_point",
)
_SHORTEST_NAME = 4

_adopted: dict[str, tuple[Any, EnvSpec]] = {}
"""Gymnasium's spec and its copy, by id."""


def adopt_specs() -> dict[str, EnvSpec]:
    """Copy specs that are registered only in Gymnasium into the registry, and return it.

    Changes of Gymnasium's registry since the last call are applied. An id that conflicts with one
    of Ludus, because only one of them has a version, is skipped.
    """
    gymnasium = loaded_gymnasium()
    if gymnasium is None:
        return registry
    theirs = gymnasium.registry
    for env_id, (source, copied) in list(_adopted.items()):
        if registry.get(env_id) is not copied:
            del _adopted[env_id]  # replaced or removed by the user
        elif theirs.get(env_id) is not source:
            del _adopted[env_id], registry[env_id]
    for env_id, source in list(theirs.items()):
        if env_id not in registry and not _is_needless(source):
            _adopt(env_id, source)
    return registry


def is_adopted(env_id: str) -> bool:
    """Return whether an id was copied from Gymnasium's registry."""
    return env_id in _adopted


def _is_needless(source: Any) -> bool:
    points = (source.entry_point, source.vector_entry_point)
    return source.id in _NEEDLESS or any(str(point).startswith("ludus.") for point in points)


def _adopt(env_id: str, source: Any) -> None:
    copied = as_spec(source)
    try:
        check_can_register(copied)
    except Error:
        return
    registry[env_id] = copied
    _adopted[env_id] = source, copied


def as_spec(spec: Any) -> Any:
    """Return a Gymnasium spec as a Ludus spec; other objects are returned unchanged."""
    gymnasium = loaded_gymnasium()
    if gymnasium is None or not isinstance(spec, gymnasium.envs.registration.EnvSpec):
        return spec
    return EnvSpec(
        **{name: getattr(spec, name) for name in _COPIED},
        kwargs=dict(spec.kwargs),
        additional_wrappers=tuple(
            WrapperSpec(wrapper.name, wrapper.entry_point, wrapper.kwargs)
            for wrapper in spec.additional_wrappers
        ),
    )


def packages_to_import(name: str) -> list[str]:
    """Return installed modules that may register an environment of this name when imported.

    These are modules whose name begins like the environment's and whose distribution requires
    Gymnasium, or else Gymnasium plugins without a namespace. They are not imported.
    """
    import pkgutil  # used for error messages only

    word = _folded(name.partition("-")[0].partition("_")[0])
    found: set[str] = set()
    if len(word) >= _SHORTEST_NAME:
        installed = (item.name for item in pkgutil.iter_modules())
        found = {m for m in installed if _folded(m).startswith(word) and _needs_gymnasium(m)}
    found = found or {point.module.partition(".")[0] for point in _announced_to_gymnasium()}
    return sorted(module for module in found if module not in sys.modules and _is_name(module))


def module_named_by(name: str) -> str | None:
    """Return the installed module with which an id begins, if it requires Gymnasium.

    For ``MiniGrid-Empty-5x5`` that is ``minigrid``. Nothing is imported.
    """
    word = name.partition("-")[0].lower()
    # A module that is imported has already registered its environments.
    if not _is_name(word) or word in sys.modules or not _needs_gymnasium(word):
        return None
    return word


def _announced_to_gymnasium() -> Iterator[EntryPoint]:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        if point.name == ROOT:
            yield point
    yield from entry_points(group=f"{GROUP}.{ROOT}")


def _needs_gymnasium(module: str) -> bool:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return any(_folded(line).startswith("gymnasium") for line in requires(module) or ())
    except (PackageNotFoundError, ValueError):
        return False


def _is_name(module: str) -> bool:
    return module.isascii() and module.isidentifier()


def _folded(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
