"""Log files of episodes, and what ``MLGYM_WORKSPACE_PATH`` keeps of them.

A log is for the operator: it tells how the work was graded. It is written outside the sandboxes,
one file per episode, if the task's configuration says ``verbose: true``, the caller asks for it
(``verbose=True``, ``--verbose``), or ``LUDUS_LOG`` names a level:

===========  ==============================================================================
``debug``    outputs of commands too; the level of ``verbose``
``info``     each action with its exit code, time and reward; gradings; the end
``warning``  time limits that were reached, refused submissions, faults
``error``    faults of the infrastructure
===========  ==============================================================================
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ludus import logger
from ludus.errors import ResearchError
from ludus.research.episode.limits import EpisodeLimits
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task
from ludus.terminal_text import escaped

__all__ = ["LEVELS", "VARIABLE", "Journal", "log_level"]

VARIABLE = "LUDUS_LOG"
LEVELS = ("debug", "info", "warning", "error")
_LONGEST = 4096
_RESULT = ("outcome", "score", "normalised_score", "end", "reason", "steps", "seconds", "cost")


def log_level(verbose: bool | None) -> str | None:
    """Return the level of logs; ``None`` if there are none.

    Raises:
        ResearchError: ``LUDUS_LOG`` has an invalid value.
    """
    text = os.environ.get(VARIABLE, "").strip().lower()
    if text and text not in LEVELS:
        raise ResearchError(
            f"The environment variable {VARIABLE} is {text!r}; expected one of "
            f"{', '.join(LEVELS)}. Set it to one of these, or unset it."
        )
    return text or ("debug" if verbose else None)


class Journal:
    """Writes the log of each episode, and keeps what was graded where the user wants it.

    Without a level and without ``MLGYM_WORKSPACE_PATH`` it does nothing. A file that cannot be
    written is warned of, and the episode goes on.

    Args:
        task: The task.
        verbose: As the caller says; by default as the task's configuration does.
        folder: Of the logs; by default ``logs`` in ``MLGYM_WORKSPACE_PATH``, or in ``runs``. If it
            is given, nothing else is kept.
        name: Of the log file, which is continued; by default each episode has a new name.

    Raises:
        ResearchError: A variable has an invalid value.
    """

    def __init__(
        self, task: Task, *, verbose: bool | None, folder: Path | None, name: str | None
    ) -> None:
        self._task, self._name = task, name
        self._level = log_level(task.config.verbose if verbose is None else verbose)
        workspace = MlgymSettings.read().workspace_path
        self._kept = workspace if folder is None else None
        self._folder = folder or Path("runs" if workspace is None else workspace, "logs")
        self._episode = ""
        self.file: Path | None = None

    def begin(self, seed: int, limits: EpisodeLimits, backend: str) -> None:
        """Begin the log of an episode."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self._episode = self._name or f"{self._task.id}-{stamp}-{secrets.token_hex(3)}"
        self.file = None if self._level is None else self._folder / f"{self._episode}.log"
        self._write("info", f"episode of {self._task.id}, seed {seed}, sandbox {backend}")
        self._write("debug", f"limits: {limits}")

    def step(self, action: object, observation: Mapping[str, Any], info: Mapping[str, Any]) -> None:
        """Write one step, apart from its reward."""
        typed = action if isinstance(action, str) else json.dumps(action, default=str)
        code, seconds = int(observation["exit_code"]), info.get("command_seconds", 0.0)
        self._write("info", f"step {info.get('steps')}: exit code {code}, {seconds:.3f} s: {typed}")
        if info.get("timed_out"):
            self._write("warning", "the command was stopped at its time limit")
        self._write("debug", f"output: {observation['output']}")
        for name in ("validation", "final"):
            if graded := info.get(name):
                level = {"scored": "info", "agent_fault": "warning"}.get(graded["outcome"], "error")
                told = graded["reason"] or graded["score"]
                self._write(level, f"{name}: {graded['outcome']}: {told}")

    def reward(self, reward: float) -> None:
        """Write the reward of a step."""
        self._write("info", f"reward {reward:.6g}")

    def end(self, info: Mapping[str, Any], graded: Mapping[str, bytes]) -> None:
        """Write the end of an episode, and keep the files that were graded."""
        told = {name: info.get(name) for name in _RESULT}
        self._write("info", f"end: {json.dumps(told)}")
        if self._kept is None:
            return
        place = self._kept / self._task.id / self._episode
        try:
            for path, data in graded.items():
                file = place / "submission" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            place.mkdir(parents=True, exist_ok=True)
            (place / "result.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
        except OSError as problem:
            logger.warn(f"The work of the episode could not be kept in {place}: {problem}")

    def _write(self, level: str, message: str) -> None:
        if self.file is None or LEVELS.index(level) < LEVELS.index(self._level or "error"):
            return
        text = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} […]"
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {level:7} {escaped(text.rstrip())}\n"
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line.replace("\n", "\n    ").removesuffix("    "))
        except OSError as problem:
            logger.warn(f"The log of the episode ends: {problem}")
            self.file = None
