"""Conversion between Ludus and Gymnasium.

* ``to_gymnasium`` and ``from_gymnasium`` adapt environments; the functions with ``_vector``,
  ``_space`` and ``_spec`` convert vector environments, spaces and specs.
* ``register_in_gymnasium`` makes ``gymnasium.make("ludus/CartPole-v1")`` work.
* ``alias.install()`` makes ``import gymnasium`` return Ludus, for code that cannot be changed.

Gymnasium is imported only when a converter is used or environments are registered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop.gymnasium import alias, launch
    from ludus.interop.gymnasium.adapter import from_gymnasium, to_gymnasium
    from ludus.interop.gymnasium.plugin import register_in_gymnasium
    from ludus.interop.gymnasium.spaces import from_gymnasium_space, to_gymnasium_space
    from ludus.interop.gymnasium.specs import from_gymnasium_spec, to_gymnasium_spec
    from ludus.interop.gymnasium.vector_adapter import from_gymnasium_vector, to_gymnasium_vector

__all__ = [
    "alias",
    "from_gymnasium",
    "from_gymnasium_space",
    "from_gymnasium_spec",
    "from_gymnasium_vector",
    "launch",
    "register_in_gymnasium",
    "to_gymnasium",
    "to_gymnasium_space",
    "to_gymnasium_spec",
    "to_gymnasium_vector",
]

_HOMES = {
    "register_in_gymnasium": "plugin",
    **dict.fromkeys(("from_gymnasium", "to_gymnasium"), "adapter"),
    **dict.fromkeys(("from_gymnasium_space", "to_gymnasium_space"), "spaces"),
    **dict.fromkeys(("from_gymnasium_spec", "to_gymnasium_spec"), "specs"),
    **dict.fromkeys(("from_gymnasium_vector", "to_gymnasium_vector"), "vector_adapter"),
}

__getattr__ = lazy_names(__name__, _HOMES, modules=("alias", "launch"))


def __dir__() -> list[str]:
    return __all__
