"""Frames of one environment, also of one in a batch."""

from __future__ import annotations

from typing import Any

from ludus.core.vector_env import VectorEnv
from ludus.errors import Error
from ludus.kernel.vector_env import KernelVectorEnv
from ludus.record.replay.subject import AnyEnv
from ludus.vector.sync_vector_env import SyncVectorEnv

__all__ = ["draw"]

_MOST_DRAWN = 64


def draw(env: AnyEnv, index: int) -> Any:
    """Return what ``render`` returns for one environment; of a batch, only that one is drawn.

    Raises:
        Error: There is no such environment, or all of a large batch would have to be drawn.
    """
    if not isinstance(env, VectorEnv):
        return env.render()
    if not 0 <= index < env.num_envs:
        raise Error(f"The batch has {env.num_envs} environments, and none has the number {index}.")
    inner = env.unwrapped
    if isinstance(inner, SyncVectorEnv):
        return inner.envs[index].render()
    if isinstance(inner, KernelVectorEnv):
        return inner.render_one(index)
    if env.num_envs > _MOST_DRAWN:
        raise Error(
            f"{type(inner).__name__} draws all of its {env.num_envs} environments at once; at most "
            f"{_MOST_DRAWN} are drawn here."
        )
    frames = env.render()
    if frames is None or len(frames) <= index:
        raise Error(f"{type(inner).__name__}.render() returned no frame of environment {index}.")
    return frames[index]
