"""``mlgym.environment.utils``: configurations, state, limits, observations and actions.

The document describes this module without naming its functions; these are Ludus's own, under the
names of what they do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ludus.core.env import Env
from ludus.research import MlgymSettings, TaskConfig, find_tasks, load_task
from ludus.research.episode.actions import ParsedAction, read_action
from ludus.research.episode.limits import EpisodeLimits
from ludus.research.episode.observation import Observation
from ludus.research.task.config_file import config_of, parse_config

__all__ = [
    "MlgymSettings",
    "find_task_configs",
    "get_env_state",
    "load_task_config",
    "parse_task_config",
    "process_action",
    "process_observation",
    "set_env_state",
    "task_limits",
]


def load_task_config(task: str | os.PathLike[str]) -> TaskConfig:
    """Return the configuration of a task, by its id or the path of its file or folder.

    Raises:
        TaskError: There is none, or it is wrong.
    """
    return load_task(Path(task) if isinstance(task, os.PathLike) else task).config


def parse_task_config(config: str | Mapping[str, Any]) -> TaskConfig:
    """Return the configuration that a text in YAML or a dict describes.

    Raises:
        TaskError: It is wrong; fields, lines and fixes are named.
    """
    if isinstance(config, str):
        return parse_config(config, "task_config")
    return config_of(config, "task_config")


def find_task_configs() -> dict[str, TaskConfig]:
    """Return the configurations of all tasks on the search path, by their ids."""
    return {task.id: task.config for task in find_tasks().tasks}


def get_env_state(env: Env[Any, Any]) -> Any:
    """Return the state of an environment's episode as plain data, the workspace included.

    Raises:
        StateError: The state cannot be saved.
    """
    return env.unwrapped.get_state()


def set_env_state(env: Env[Any, Any], state: Any) -> None:
    """Restore a state of :func:`get_env_state`.

    Raises:
        StateError: It is of another task, or damaged.
    """
    env.unwrapped.set_state(state)


def task_limits(task: str | os.PathLike[str] | TaskConfig | Mapping[str, Any]) -> EpisodeLimits:
    """Return steps, seconds, time limits of actions and validations of a task's episodes.

    They are the task's own, changed by ``MLGYM_*`` variables.

    Raises:
        ResearchError: A variable has an invalid value.
        TaskError: There is no such task.
    """
    found = load_task(Path(task) if isinstance(task, os.PathLike) else task)
    return EpisodeLimits.of(found, steps=None, seconds=None, cost=None)


def process_action(action: object) -> ParsedAction:
    """Return an action as it is executed, or why it is not.

    Raises:
        InvalidAction: It is neither a text nor a tool call.
    """
    return read_action(action)


def process_observation(observation: Observation) -> str:
    """Return an observation as text for an agent that reads one."""
    output = str(observation["output"])
    place = f"[{observation['cwd']}] {int(observation['steps_left'])} steps left"
    return f"{output}{'' if not output or output.endswith(chr(10)) else chr(10)}{place}"
