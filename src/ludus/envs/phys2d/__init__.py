"""Gymnasium's ``phys2d`` environments: variants of CartPole and Pendulum over the same kernels.

There they are written in JAX, to be compiled and batched; here every kernel is. What a seed gives
differs, because JAX's generator is another one; from the same state the same action leads to the
same state, within single precision, in which JAX computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _MODULES)
