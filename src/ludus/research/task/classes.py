"""Tasks that are classes: registered ones, and what they need of a task's files."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ludus.errors import TaskError
from ludus.registration.table import registry
from ludus.research.task.config import Evaluation, TaskConfig
from ludus.research.task.task import BaseTask, Task

__all__ = [
    "DOCUMENTED",
    "TaskClass",
    "is_entry_point",
    "make_rules",
    "registered_task",
    "resolve",
    "task_of_class",
    "with_class",
]

TaskClass: TypeAlias = str | Callable[..., BaseTask]
_Files: TypeAlias = Callable[[str], Task]

DOCUMENTED = ("mlgym.environment", "ludus.interop.mlgym.environment")
"""MLGym's package, and the one that stands in for it where it is not to be had."""

_RETURN = Evaluation(metric="return", threshold=1.0)
_NOWHERE = Path("/dev/null")
"""Nothing can lie below it."""


def is_entry_point(text: str) -> bool:
    """Whether a text has the form ``module:name``."""
    module, colon, name = text.partition(":")
    return bool(colon) and name.isidentifier() and all(map(str.isidentifier, module.split(".")))


def resolve(entry_point: TaskClass, task: str) -> Callable[..., BaseTask]:
    """Return the class behind an entry point.

    Modules of ``mlgym.environment`` that cannot be imported are those of
    ``ludus.interop.mlgym.environment``.

    Raises:
        TaskError: It cannot be imported, or there is no such name; the message says why.
    """
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    theirs, ours = DOCUMENTED
    modules = [module]
    if module.partition(".")[0] == theirs.partition(".")[0]:
        modules.append(module.replace(theirs, ours, 1))
    problems: list[Exception] = []
    for one in modules:
        try:
            found: Callable[..., BaseTask] = getattr(import_module(one), name)
        except Exception as problem:  # the module is the user's code and may raise anything
            problems.append(problem)
        else:
            return found
    raise TaskError(
        f"The class {entry_point!r} of task {task} cannot be loaded: "
        f"{type(problems[0]).__name__}: {problems[0]}. Is its folder on PYTHONPATH?"
    ) from problems[0]


def make_rules(task: Task, task_class: TaskClass | None = None) -> BaseTask:
    """Make the task object that decides on observations, rewards and the end.

    Raises:
        TaskError: There is no such class, it cannot be made, or makes something else.
    """
    chosen = task_class or task.task_class
    if chosen is None:
        return BaseTask(task.config)
    try:
        rules: Any = resolve(chosen, task.id)(task.config)
    except TypeError as problem:
        raise TaskError(
            f"The class {chosen!r} of task {task.id} cannot be made: {problem}. Define "
            "__init__(self, config)."
        ) from problem
    if not isinstance(rules, BaseTask):
        raise TaskError(
            f"Task {task.id} is made by {chosen!r}, which returned a {type(rules).__name__}; "
            "expected a ludus.research.BaseTask."
        )
    if not hasattr(rules, "history"):  # its __init__ need not call ours
        BaseTask.__init__(rules, task.config)
    return rules


def with_class(task: Task, *, files: _Files) -> Task:
    """Return a task with the class that was registered for its id, if one was."""
    spec = registry.get(task.env_id)
    registered = None if spec is None else spec.kwargs.get("task_class")
    if registered is None or task.task_class is not None:
        return task
    steps = spec.kwargs.get("max_steps") if spec is not None else None
    config = task.config if steps is None else _changed(task.config, max_steps=steps)
    made = replace(task, config=config, task_class=registered)
    has_files = any(task.part(one).exists() for one in ("workspace", "data.py", "grader"))
    source = None if has_files else _files_of(resolve(registered, task.id), files)
    return made if source is None else replace(made, folder=source.folder, base=source.base)


def registered_task(id: str, *, files: _Files) -> Task | None:
    """Return the task that ``register_task`` was given as a class only, if there is one."""
    spec = registry.get(f"mlgym/{id}-v0")
    if spec is None or spec.kwargs.get("task_class") is None:
        return None
    return task_of_class(
        spec.kwargs["task_class"],
        id,
        files=files,
        description=spec.description,
        max_steps=spec.kwargs.get("max_steps"),
    )


def task_of_class(
    task_class: TaskClass,
    id: str | None = None,
    *,
    files: _Files,
    description: str | None = None,
    max_steps: int | None = None,
) -> Task:
    """Return the task of a class, without a file that describes it.

    The class names a task whose files it uses (``files``), or grades itself: the score is then the
    sum of the rewards, and the workspace is empty.

    Raises:
        TaskError: The class cannot be loaded.
    """
    made = resolve(task_class, id or str(task_class))
    name: str = id or str(getattr(made, "__name__", "task"))
    told = description or inspect.getdoc(made) or f"The task {name}."
    given: dict[str, Any] = {"id": name, "description": told}
    given |= {} if max_steps is None else {"max_steps": max_steps}
    source = _files_of(made, files)
    if source is not None:
        config = _changed(source.config, **given)
        return replace(source, config=config, task_class=task_class, source=_code(made, config))
    config = TaskConfig(**given, name=name, evaluation=_RETURN)
    folder, code = _NOWHERE / name, _code(made, config)
    return Task(config, folder / "task.yaml", folder, task_class, source=code, grades_itself=True)


def _files_of(made: Any, files: _Files) -> Task | None:
    named = getattr(made, "files", None)
    return files(named) if isinstance(named, str) else None


def _changed(config: TaskConfig, **fields: Any) -> TaskConfig:
    return TaskConfig.model_validate({**config.model_dump(), **fields})


def _code(made: Any, config: TaskConfig) -> bytes:
    """Return what the task depends on: its configuration, and the source of its class."""
    try:
        code = inspect.getsource(made)
    except (OSError, TypeError):  # such as a class of an interactive session
        code = f"{getattr(made, '__module__', '')}.{getattr(made, '__qualname__', '')}"
    return f"{config.model_dump_json()}\n{code}".encode()
