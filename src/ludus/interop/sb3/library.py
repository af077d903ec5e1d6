"""Import of Stable-Baselines3; raises DependencyNotInstalled if it is missing."""

from __future__ import annotations

from ludus.optional import missing

__all__ = ["Monitor", "ResultsWriter", "VecEnv", "make_single_vec_env"]

try:
    from stable_baselines3.common.env_util import make_vec_env as make_single_vec_env
    from stable_baselines3.common.monitor import Monitor, ResultsWriter
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as problem:
    raise missing("Stable-Baselines3", extra="sb3", purpose="ludus.interop.sb3") from problem
