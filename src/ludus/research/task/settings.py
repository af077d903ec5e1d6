"""MLGym's environment variables, typed and in one place."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.errors import ResearchError

__all__ = ["MlgymSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MlgymSettings:
    """The documented ``MLGYM_*`` variables, and ``MLGYM_GPUS``; unset and empty ones are ignored.

    Attributes:
        config_root: ``MLGYM_CONFIG_ROOT``; its folder ``tasks`` is searched for tasks.
        task_config_dir: ``MLGYM_TASK_CONFIG_DIR``; folders that are searched first, separated by
            ``:``.
        workspace_path: ``MLGYM_WORKSPACE_PATH``; where runs are stored.
        env_timeout: ``MLGYM_ENV_TIMEOUT``; seconds of an episode.
        action_short_timeout: ``MLGYM_ACTION_SHORT_TIMEOUT``; seconds for a tool.
        action_long_timeout: ``MLGYM_ACTION_LONG_TIMEOUT``; seconds for a command, instead of the
            task's ``timeout``.
        model_max_retries: ``MLGYM_MODEL_MAX_RETRIES``; retries of a request to a model.
        gpus: ``MLGYM_GPUS``; GPUs of the agent's sandbox instead of the task's own. 0 does without.
    """

    config_root: Path | None = None
    task_config_dir: tuple[Path, ...] = ()
    workspace_path: Path | None = None
    env_timeout: float = 10_000.0
    action_short_timeout: float = 60.0
    action_long_timeout: float | None = None
    model_max_retries: int = 3
    gpus: int | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> MlgymSettings:
        """Read the variables, from the process's environment by default.

        Raises:
            ResearchError: One has an invalid value.
        """
        variables = os.environ if environment is None else environment
        given: dict[str, Any] = {}
        for field, (read, expected) in _READERS.items():
            name = f"MLGYM_{field.upper()}"
            text = variables.get(name, "").strip()
            if not text:
                continue
            try:
                given[field] = read(text)
            except ValueError as problem:
                raise ResearchError(
                    f"The environment variable {name} is {text!r}; expected {expected}. Set it "
                    "to that, or unset it."
                ) from problem
        return cls(**given)

    def long_timeout(self, task_timeout: float) -> float:
        """Return the seconds for one long command of a task."""
        return task_timeout if self.action_long_timeout is None else self.action_long_timeout


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(_path(part) for part in text.split(os.pathsep) if part)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(text)
    return seconds


def _count(text: str) -> int:
    count = int(text)
    if count < 0:
        raise ValueError(text)
    return count


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "config_root": (_path, "a folder"),
    "task_config_dir": (_paths, "folders"),
    "workspace_path": (_path, "a folder"),
    "env_timeout": (_seconds, "a positive number of seconds"),
    "action_short_timeout": (_seconds, "a positive number of seconds"),
    "action_long_timeout": (_seconds, "a positive number of seconds"),
    "model_max_retries": (_count, "a whole number, 0 or more"),
    "gpus": (_count, "a whole number, 0 or more"),
}
