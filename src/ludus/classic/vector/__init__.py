"""Gym's vector environments, implemented with Ludus's vector backends."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ludus.classic.envs.registration import make as make_single
from ludus.classic.vector.backends import AsyncVectorEnv, SyncVectorEnv
from ludus.classic.vector.vector_env import VectorEnv, VectorEnvWrapper

__all__ = ["AsyncVectorEnv", "SyncVectorEnv", "VectorEnv", "VectorEnvWrapper", "make"]


def make(
    id: str,
    num_envs: int = 1,
    asynchronous: bool = True,
    wrappers: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
    **kwargs: Any,
) -> VectorEnv:
    """Build a vector environment of a registered environment.

    Args:
        id: The id.
        num_envs: Number of environments.
        asynchronous: Whether they run in worker processes.
        wrappers: Wrappers of each environment, the first one innermost.
        **kwargs: Arguments of the environments.

    Raises:
        Error: The id is unknown.
        ValueError: ``num_envs`` is not positive.
    """
    if num_envs < 1:
        raise ValueError(f"vector.make(num_envs={num_envs!r}): expected a positive int.")
    around = [wrappers] if callable(wrappers) else list(wrappers or ())
    build = functools.partial(_build, id, tuple(around), kwargs)
    kind = AsyncVectorEnv if asynchronous else SyncVectorEnv
    return kind([build] * num_envs)


def _build(id: str, wrappers: tuple[Callable[[Any], Any], ...], kwargs: dict[str, Any]) -> Any:
    env: Any = make_single(id, **kwargs)
    for wrapper in wrappers:
        env = wrapper(env)
    return env
