"""Classic control: small, fast physics problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.envs.classic_control.acrobot import AcrobotEnv
    from ludus.envs.classic_control.cartpole import CartPoleEnv
    from ludus.envs.classic_control.cartpole_vector import CartPoleVectorEnv
    from ludus.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
    from ludus.envs.classic_control.mountain_car import MountainCarEnv
    from ludus.envs.classic_control.pendulum import PendulumEnv

__all__ = [
    "AcrobotEnv",
    "CartPoleEnv",
    "CartPoleVectorEnv",
    "Continuous_MountainCarEnv",
    "MountainCarEnv",
    "PendulumEnv",
]

_MODULES = {
    "AcrobotEnv": "acrobot",
    "CartPoleEnv": "cartpole",
    "CartPoleVectorEnv": "cartpole_vector",
    "Continuous_MountainCarEnv": "continuous_mountain_car",
    "MountainCarEnv": "mountain_car",
    "PendulumEnv": "pendulum",
}

__getattr__ = lazy_names(__name__, _MODULES)
