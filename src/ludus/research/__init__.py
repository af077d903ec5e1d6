"""Research tasks: an agent in a sandbox improves on a baseline, and cannot reach what grades it.

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
    from ludus.research.agents.rollouts import Rollout, rollouts
    from ludus.research.episode.env import MLGymEnv, ResearchEnv
    from ludus.research.linting import check_task
    from ludus.research.running.agents import parse_agent
    from ludus.research.running.options import EpisodeOptions
    from ludus.research.running.run import resume_research, run_research
    from ludus.research.running.trajectory import trajectory_of_run
    from ludus.research.task.config import TaskConfig
    from ludus.research.task.discovery import find_tasks, load_task, task_ids
    from ludus.research.task.registration import register_task, register_tasks
    from ludus.research.task.reward import Scale
    from ludus.research.task.scaffold import new_task
    from ludus.research.task.settings import MlgymSettings
    from ludus.research.task.settings import MlgymSettings as Settings
    from ludus.research.task.task import ActionResult, BaseTask, Task
    from ludus.research.task.task import ActionResult as Result

__all__ = [
    "ActionResult",
    "BaseTask",
    "EpisodeOptions",
    "MLGymEnv",
    "MlgymSettings",
    "ResearchEnv",
    "Result",
    "Rollout",
    "Scale",
    "Settings",
    "Task",
    "TaskConfig",
    "check_task",
    "find_tasks",
    "load_task",
    "new_task",
    "parse_agent",
    "register_task",
    "register_tasks",
    "resume_research",
    "rollouts",
    "run_research",
    "task_ids",
    "trajectory_of_run",
]

_MODULES = {
    **dict.fromkeys(("ActionResult", "BaseTask", "Task"), "task.task"),
    **dict.fromkeys(("MLGymEnv", "ResearchEnv"), "episode.env"),
    **dict.fromkeys(("EpisodeOptions", "parse_agent"), "running"),
    **dict.fromkeys(("resume_research", "run_research"), "running"),
    **dict.fromkeys(("Rollout", "rollouts"), "agents.rollouts"),
    "Scale": "task.reward",
    "MlgymSettings": "task.settings",
    "TaskConfig": "task.config",
    "check_task": "linting",
    **dict.fromkeys(("find_tasks", "load_task", "task_ids"), "task.discovery"),
    "new_task": "task.scaffold",
    **dict.fromkeys(("register_task", "register_tasks"), "task.registration"),
    "trajectory_of_run": "running.trajectory",
    # Old names.
    "Result": "task.task:ActionResult",
    "Settings": "task.settings:MlgymSettings",
}

__getattr__ = lazy_names(__name__, _MODULES)
