"""Gymnasium's ``phys2d`` environments: variants of CartPole and Pendulum over the same kernels.

There they are written in JAX, to be compiled and batched; here every kernel is. What a seed gives
differs, because JAX's generator is another one; from the same state the same action leads to the
same state, within single precision, in which JAX computes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.phys2d.cartpole import CartPoleFunctional, CartPoleJaxEnv
    from ludus.envs.phys2d.pendulum import PendulumFunctional, PendulumJaxEnv

__all__ = ["CartPoleFunctional", "CartPoleJaxEnv", "PendulumFunctional", "PendulumJaxEnv"]

_MODULES = {
    "CartPoleFunctional": "cartpole",
    "CartPoleJaxEnv": "cartpole",
    "PendulumFunctional": "pendulum",
    "PendulumJaxEnv": "pendulum",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
