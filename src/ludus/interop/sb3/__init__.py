"""Ludus vector environments for Stable-Baselines3, without a Python loop over environments.

* ``make_vec_env`` has the same arguments as SB3's function of that name.
* ``LudusVecEnv`` adapts any Ludus vector environment to ``VecEnv``.

SB3 is imported when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop.sb3.building import make_vec_env
    from ludus.interop.sb3.vec_env import LudusVecEnv

__all__ = ["LudusVecEnv", "make_vec_env"]

__getattr__ = lazy_names(__name__, {"LudusVecEnv": "vec_env", "make_vec_env": "building"})
