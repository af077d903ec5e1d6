"""The one place that imports Stable-Baselines3.

Raises:
    DependencyNotInstalled: On import, if it is missing.
"""

from __future__ import annotations

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["Monitor", "ResultsWriter", "VecEnv", "make_single_vec_env"]

try:
    from stable_baselines3.common.env_util import make_vec_env as make_single_vec_env
    from stable_baselines3.common.monitor import Monitor, ResultsWriter
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as problem:
    raise DependencyNotInstalled(
        "ludus.interop.sb3 needs Stable-Baselines3, which is not installed; run "
        f"`{pip_install('sb3')}`"
    ) from problem
