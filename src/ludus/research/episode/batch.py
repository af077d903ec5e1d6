"""Batches of research environments."""

from __future__ import annotations

from functools import partial
from typing import Any

from ludus.core.vector_env import AutoresetMode
from ludus.research.episode.env import ResearchEnv
from ludus.vector import AsyncVectorEnv

__all__ = ["research_batch"]


def research_batch(
    num_envs: int,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **kwargs: Any,
) -> AsyncVectorEnv[Any, Any]:
    """Return a batch with one worker per environment.

    A step mostly waits for a command in a sandbox, so that as many can run as there are
    environments, on however few processors.

    Args:
        num_envs: Number of environments.
        autoreset_mode: When a finished environment starts its next episode.
        **kwargs: Of :class:`ResearchEnv`.
    """
    build = partial(ResearchEnv, **kwargs)
    return AsyncVectorEnv([build] * num_envs, autoreset_mode=autoreset_mode, num_workers=num_envs)
