"""Research tasks: an agent in a box improves on a baseline, and cannot reach what grades it.

::

    import ludus

    env = ludus.make("mlgym/battleOfSexes-v0")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("cat strategy.py")

What is named here loads when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.research.config import TaskConfig
    from ludus.research.discovery import find_tasks, load_task, task_ids
    from ludus.research.env import MLGymEnv, ResearchEnv
    from ludus.research.linting import check_task
    from ludus.research.registration import register_task, register_tasks
    from ludus.research.reward import Scale
    from ludus.research.scaffold import new_task
    from ludus.research.settings import Settings
    from ludus.research.task import BaseTask, Result, Task

__all__ = [
    "BaseTask",
    "MLGymEnv",
    "ResearchEnv",
    "Result",
    "Scale",
    "Settings",
    "Task",
    "TaskConfig",
    "check_task",
    "find_tasks",
    "load_task",
    "new_task",
    "register_task",
    "register_tasks",
    "task_ids",
]

_MODULES = {
    **dict.fromkeys(("BaseTask", "Result", "Task"), "task"),
    **dict.fromkeys(("MLGymEnv", "ResearchEnv"), "env"),
    "Scale": "reward",
    "Settings": "settings",
    "TaskConfig": "config",
    "check_task": "linting",
    **dict.fromkeys(("find_tasks", "load_task", "task_ids"), "discovery"),
    "new_task": "scaffold",
    **dict.fromkeys(("register_task", "register_tasks"), "registration"),
}

__getattr__ = lazy_names(__name__, _MODULES)
