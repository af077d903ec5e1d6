"""Gymnasium's ``phys2d`` environments: variants of CartPole and Pendulum over the same kernels.

Gymnasium writes them in JAX. Seeds give other states here, because JAX has another generator; from
the same state the same action leads to the same state, within JAX's single precision.
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
