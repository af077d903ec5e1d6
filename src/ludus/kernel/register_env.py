"""Registering a kernel's environment in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ludus.kernel.env import KernelEnv

__all__ = ["register"]

Class = TypeVar("Class", bound=type[KernelEnv])


def register(id: str, **spec: Any) -> Callable[[Class], Class]:
    """Return a decorator that registers a :class:`KernelEnv`, its vector form included.

    Args:
        id: The id that ``make`` and ``make_vec`` take.
        **spec: Further arguments of :func:`ludus.register`, ``max_episode_steps`` for one.

    Example:
        >>> @register("my/Drift-v0", max_episode_steps=100)
        ... class DriftEnv(KernelEnv):
        ...     kernel = KERNEL
    """

    def enter(cls: Class) -> Class:
        # The registry is built on kernels; only this convenience looks the other way.
        from ludus.registration import register as add

        add(id, entry_point=cls, vector_entry_point=cls.vector, **spec)
        return cls

    return enter
