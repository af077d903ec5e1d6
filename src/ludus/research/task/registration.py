"""Research tasks as environments ``mlgym/<id>-v0``, as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ludus import logger
from ludus.core.spec import EnvSpec, SecuritySpec
from ludus.errors import TaskError
from ludus.registration import add_spec, registry
from ludus.research.task.discovery import BUNDLED, find_tasks, load_task
from ludus.research.task.task import BaseTask, Task

__all__ = ["ENTRY_POINT", "register_task", "register_tasks", "spec_of_task", "task_specs"]

ENTRY_POINT = "ludus.research.episode.env:ResearchEnv"
VECTOR_ENTRY_POINT = "ludus.research.episode.batch:research_batch"
_LONGEST = 300


def register_task(
    id: str,
    entry_point: str | Callable[..., BaseTask] | None = None,
    max_steps: int | None = None,
    description: str | None = None,
    *,
    folder: str | Path | None = None,
) -> None:
    """Register a task as the environment ``mlgym/<id>-v0``.

    Args:
        id: The task's id, without namespace and version.
        entry_point: ``"module:name"`` of a :class:`~ludus.research.task.task.BaseTask`, for a task
            that decides more than its file says; imported when the environment is made.
        max_steps: Actions in an episode; by default the task's own.
        description: One sentence, found by ``ludus.search``.
        folder: Path of the task, unless it is on the search path.

    Raises:
        TaskError: The id, the entry point or the number of steps is invalid.
    """
    if not isinstance(id, str) or "/" in id or re.search(r"-v\d+$", id):
        raise TaskError(
            f"register_task(id={id!r}): expected an id such as 'battleOfSexes'; 'mlgym/' and '-v0' "
            "are added to it."
        )
    if isinstance(entry_point, str) and entry_point.count(":") != 1:
        raise TaskError(
            f"register_task({id!r}): entry_point is {entry_point!r}, expected 'module:name' with "
            "one colon, for example 'my_package.tasks:MyTask'."
        )
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise TaskError(
            f"register_task({id!r}): max_steps is {max_steps!r}, expected a positive int."
        )
    kwargs: dict[str, Any] = {"task": id if folder is None else str(Path(folder).absolute())}
    if entry_point is not None:
        kwargs["task_class"] = entry_point
    if max_steps is not None:
        kwargs["max_steps"] = max_steps
    security = SecuritySpec(subprocess=True)
    add_spec(
        _spec(f"mlgym/{id}-v0", kwargs, description, security, _scale(id, folder, entry_point))
    )


def register_tasks() -> None:
    """Enter all tasks on the search path into the registry; what is registered already stays."""
    for spec in task_specs():
        registry.setdefault(spec.id, spec)


def task_specs() -> Iterator[EnvSpec]:
    """Yield a spec for each task on the search path; a file that describes none is warned of."""
    found = find_tasks()
    for problem in found.broken.values():
        logger.warn(f"A task is left out. {problem}")
    for task in found.tasks:
        yield spec_of_task(task)


def spec_of_task(task: Task) -> EnvSpec:
    """Return the spec under which a task is registered."""
    bundled = task.file.is_relative_to(BUNDLED)
    return _spec(
        task.env_id,
        {"task": task.id if bundled else str(task.file)},
        " ".join(task.config.description.split())[:_LONGEST],
        SecuritySpec(
            dependencies=task.config.packages,
            subprocess=True,
            trust="builtin" if bundled else "plugin",
        ),
        task.scale.described,
    )


def _scale(id: str, folder: str | Path | None, entry_point: object) -> str | None:
    """Return what is known of the rewards before the task's class is imported."""
    try:
        found = [load_task(folder)] if folder is not None else find_tasks().tasks
    except TaskError:  # told when the environment is made
        return None
    described = next((one.scale.described for one in found if folder or one.id == id), None)
    return described if entry_point is None else "that of the task's class"


def _spec(
    env_id: str,
    kwargs: dict[str, Any],
    description: str | None,
    security: SecuritySpec,
    reward_scale: str | None,
) -> EnvSpec:
    # The environment ends its episodes itself, since it has to grade them; a time limit around it
    # would cut them off ungraded.
    return EnvSpec(
        env_id,
        ENTRY_POINT,
        nondeterministic=True,
        kwargs=kwargs,
        description=description,
        tags=("research",),
        family="research",
        security=security,
        reward_scale=reward_scale,
        vector_entry_point=VECTOR_ENTRY_POINT,
    )
