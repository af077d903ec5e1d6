"""Gymnasium and Ludus, in both directions.

* ``to_gymnasium`` and ``from_gymnasium`` adapt one environment, the ``_vector`` twins a vector
  environment, the ``_space`` and ``_spec`` twins what belongs to it.
* ``register_in_gymnasium`` makes ``gymnasium.make("ludus/CartPole-v1")`` work.
* ``alias.install()`` serves Ludus under the name ``gymnasium`` to code that cannot be changed.

Gymnasium itself is imported when one of the first two is used, never before.
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
    "from_gymnasium": "adapter",
    "from_gymnasium_space": "spaces",
    "from_gymnasium_spec": "specs",
    "from_gymnasium_vector": "vector_adapter",
    "register_in_gymnasium": "plugin",
    "to_gymnasium": "adapter",
    "to_gymnasium_space": "spaces",
    "to_gymnasium_spec": "specs",
    "to_gymnasium_vector": "vector_adapter",
}

__getattr__ = lazy_names(__name__, _HOMES, modules=("alias", "launch"))


def __dir__() -> list[str]:
    return __all__
