"""Episode statistics of a batch, in the format of SB3's ``Monitor``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ludus.interop.sb3.rows import ResultsWriter

__all__ = ["METHODS", "Episodes", "MonitorOptions"]

METHODS = {
    "get_episode_lengths": "lengths",
    "get_episode_rewards": "returns",
    "get_episode_times": "times",
    "get_total_steps": "steps",
}
"""Methods of ``Monitor`` and the field of the history that they return."""


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Options of the episode log.

    Args:
        folder: Folder for one ``Monitor`` file per environment; ``None`` for no files.
        first: Number of the first environment's file.
        allow_early_resets: Whether ``reset`` may end running episodes.
        info_keywords: Keys of an episode's last info to log.
        override_existing: Whether existing files are replaced instead of extended.
    """

    folder: str | Path | None = None
    first: int = 0
    allow_early_resets: bool = True
    info_keywords: Sequence[str] = ()
    override_existing: bool = True


@dataclass(slots=True)
class _History:
    """The finished episodes of one environment."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    steps: int = 0


class Episodes:
    """Statistics of the episodes of a batch.

    Args:
        num_envs: Number of environments.
        options: Options of the log.
        env_id: Id for the headers of the files.
    """

    def __init__(self, num_envs: int, options: MonitorOptions, env_id: str | None) -> None:
        self.history = [_History() for _ in range(num_envs)]
        self.total_steps = 0
        self._options = options
        self._began = time.time()
        self._returns = np.zeros(num_envs)
        self._first_step = np.zeros(num_envs, np.int64)
        self._running = False
        self._writers = self._open_files(num_envs, env_id)

    def _open_files(self, num_envs: int, env_id: str | None) -> list[Any]:
        options = self._options
        if options.folder is None:
            return []
        folder = Path(options.folder)
        folder.mkdir(parents=True, exist_ok=True)
        return [
            ResultsWriter(
                str(folder / str(options.first + index)),
                header={"t_start": self._began, "env_id": str(env_id)},
                extra_keys=tuple(options.info_keywords),
                override_existing=options.override_existing,
            )
            for index in range(num_envs)
        ]

    def restart(self) -> None:
        """Discard the running episodes at a reset of all environments.

        Raises:
            RuntimeError: Episodes are running and ``allow_early_resets`` is false.
        """
        if self._running and not self._options.allow_early_resets:
            raise RuntimeError(
                "reset() would end running episodes, but allow_early_resets is False. Finished "
                "environments reset themselves; remove the option to allow early resets."
            )
        self._running = True
        self._returns[:] = 0.0
        self._first_step[:] = self.total_steps

    def add(self, rewards: Any) -> None:
        """Count one step of every environment."""
        self._returns += rewards
        self.total_steps += 1

    def finish(self, index: int, info: dict[str, Any]) -> dict[str, Any]:
        """End an environment's episode and return the value of ``info["episode"]``.

        Raises:
            KeyError: The episode's last info lacks one of the ``info_keywords``.
        """
        total = self._returns.item(index)
        length = self.total_steps - self._first_step.item(index)
        lasted = time.time() - self._began
        self._returns[index], self._first_step[index] = 0.0, self.total_steps
        kept = self.history[index]
        kept.returns.append(total)
        kept.lengths.append(length)
        kept.times.append(lasted)
        told: dict[str, Any] = {"r": round(total, 6), "l": length, "t": round(lasted, 6)}
        for key in self._options.info_keywords:
            told[key] = info[key]
        if self._writers:
            self._writers[index].write_row(told)
        return told

    def method(self, name: str, index: int) -> Callable[[], Any]:
        """Return one of the :data:`METHODS` for one environment."""

        def history() -> Any:
            kept = self.history[index]
            kept.steps = self.total_steps
            return getattr(kept, METHODS[name])

        return history

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers:
            writer.close()
