"""Registers the environment of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ludus.kernel.env import KernelEnv

__all__ = ["register"]

Class = TypeVar("Class", bound=type[KernelEnv])


def register(id: str, **spec: Any) -> Callable[[Class], Class]:
    """Return a decorator that registers a :class:`KernelEnv` and its vector environment.

    Args:
        id: The id for ``make`` and ``make_vec``.
        **spec: Further arguments of :func:`ludus.register`, such as ``max_episode_steps``.

    Example:
        >>> from ludus.envs.classic_control import CartPoleEnv
        >>> @register("my/CartPole-v0", max_episode_steps=100)
        ... class MyCartPoleEnv(CartPoleEnv):
        ...     pass
        >>> ludus.make("my/CartPole-v0").spec.max_episode_steps
        100
    """

    def enter(cls: Class) -> Class:
        # Imported here, because the registry imports this package.
        from ludus.registration import register as add

        add(id, entry_point=cls, vector_entry_point=cls.vector, **spec)
        return cls

    return enter
