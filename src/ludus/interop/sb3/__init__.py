"""Stable-Baselines3 on Ludus's batches, without a Python loop over environments.

* ``make_vec_env`` takes the arguments of SB3's function of that name.
* ``LudusVecEnv`` makes any Ludus vector environment a ``VecEnv``.

SB3 itself is imported when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop.sb3.building import make_vec_env
    from ludus.interop.sb3.vec_env import LudusVecEnv

__all__ = ["LudusVecEnv", "make_vec_env"]

__getattr__ = lazy_names(__name__, {"LudusVecEnv": "vec_env", "make_vec_env": "building"})
