"""Records of reinforcement learning that real environments make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ludus
from ludus.record import RecordEpisodes, RecordVectorEpisodes


def record_single(env_id: str, path: Path, *, episodes: int = 3, **options: Any) -> Path:
    """Record random episodes of one environment; only the first reset has a seed."""
    env = RecordEpisodes(ludus.make(env_id), path, block_rows=16, **options)
    env.action_space.seed(1)
    for number in range(episodes):
        env.reset(seed=5 if number == 0 else None)
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated
    env.close()
    return path


def record_batch(env_id: str, path: Path, *, rows: int = 60, **kwargs: Any) -> Path:
    """Record random steps of a batch of three."""
    env = RecordVectorEpisodes(ludus.make_vec(env_id, 3, **kwargs), path, block_rows=16)
    env.reset(seed=5)
    env.action_space.seed(1)
    for _ in range(rows):
        env.step(env.action_space.sample())
    env.close()
    return path
