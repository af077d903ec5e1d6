"""The taskset: episodes of one environment or research task, each with a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from ludus import optional
from ludus.interop.text_play import open_episode

try:
    import verifiers.v1 as vf
except ImportError as problem:
    raise optional.missing("verifiers", extra="verifiers") from problem

__all__ = ["LudusConfig", "LudusData", "LudusTask", "LudusTaskset"]


class LudusConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which episodes there are, under ``--env.taskset.*``."""

    env: str = ""
    """An id, as for ``ludus.make``; ``mlgym/...`` for research tasks."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of ``ludus.make``."""
    seed: int = Field(0, ge=0)
    """Of the first episode; the others count up."""
    num_episodes: int = Field(64, ge=1)
    """Number of tasks, one seed each."""


class LudusData(vf.TaskData):  # type: ignore[misc]
    """What one episode is made from; a trace has it."""

    env: str
    arguments: dict[str, Any]
    seed: int


class LudusTask(vf.Task[LudusData]):  # type: ignore[misc]
    """One episode; :class:`~ludus.interop.verifiers.LudusEnv` plays it and records its reward."""


class LudusTaskset(vf.Taskset[LudusTask, LudusConfig]):  # type: ignore[misc]
    """Episodes of one environment or research task."""

    def load(self) -> Iterator[LudusTask]:
        """Yield a task for each seed.

        Raises:
            ValueError: No environment is named.
            CustomSpaceError: A model cannot read its observations or write its actions.
            Error: There is no such environment.
        """
        config = self.config
        if not config.env:
            raise ValueError(
                "The taskset has no environment; name one, as in --env.taskset.env FrozenLake-v1."
            )
        episode = open_episode(config.env, config.arguments)
        rules = episode.text_instructions
        episode.close()
        for seed in range(config.seed, config.seed + config.num_episodes):
            data = LudusData(
                name=f"{config.env}#{seed}",
                system_prompt=rules,
                env=config.env,
                arguments=config.arguments,
                seed=seed,
            )
            yield LudusTask(data, config.task)
