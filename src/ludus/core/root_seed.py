"""Seeds an environment and its spaces from one root seed.

``reset(seed=...)`` seeds the environment and its wrappers, which use its generator, but not the
spaces. From a root seed each gets an independent stream.
"""

from __future__ import annotations

from typing import Any

from ludus.core.env import Env
from ludus.core.vector_env import VectorEnv
from ludus.seeding import derive_seed

__all__ = ["reset_from_root", "seed_spaces"]


def seed_spaces(env: Env[Any, Any] | VectorEnv[Any, Any, Any], root: int) -> None:
    """Seed the action and observation spaces, single and batched."""
    for name in ("action_space", "observation_space"):
        getattr(env, name).seed(derive_seed(root, name))
        if isinstance(env, VectorEnv):
            getattr(env, f"single_{name}").seed(derive_seed(root, f"single_{name}"))


def reset_from_root(
    env: Env[Any, Any] | VectorEnv[Any, Any, Any],
    root: int,
    *,
    options: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Seed the spaces and reset; environment ``i`` of a batch gets the stream ``("env", i)``.

    Raises:
        Error: The root seed is not a non-negative int.
    """
    seed_spaces(env, root)
    if isinstance(env, VectorEnv):
        seeds: Any = [derive_seed(root, "env", index) for index in range(env.num_envs)]
        return env.reset(seed=seeds, options=options)
    return env.reset(seed=derive_seed(root, "env", 0), options=options)
