"""No data: the environment makes its own. It is compiled here, once, for the grader's boxes."""

from __future__ import annotations

from pathlib import Path

from ludus.registration import make_vec


def build(folder: Path, seed: int) -> None:
    """Write nothing; a box that finds the environment compiled starts seconds earlier."""
    envs = make_vec("MountainCarContinuous-v0", num_envs=1)
    envs.reset(seed=seed)
    envs.step(envs.action_space.sample())
    envs.close()
