"""Finding tasks: those that come with Ludus, and those in folders of the user's."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus import foreign_files, logger
from ludus.errors import TaskError
from ludus.plain_yaml import YamlError, read_yaml
from ludus.research.task import classes
from ludus.research.task.config import TaskConfig
from ludus.research.task.config_file import LONGEST, config_of, parse_config
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task

__all__ = [
    "BUNDLED",
    "Found",
    "base_of",
    "bundled_tasks",
    "find_tasks",
    "load_task",
    "read_text",
    "search_path",
    "task_ids",
]

BUNDLED = Path(__file__).parents[1] / "tasks"
"""The folder of the tasks that come with Ludus."""

HERE = Path("configs", "tasks")
"""The folder below the current one that is searched for tasks if no variable names another."""

TASK_FILE = "task.yaml"
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Found:
    """The tasks on the search path, and the files that describe none, with the reason."""

    tasks: tuple[Task, ...]
    broken: dict[Path, TaskError]


def search_path(settings: MlgymSettings | None = None) -> tuple[Path, ...]:
    """Return the folders that are searched for tasks, in order; some may not exist."""
    settings = MlgymSettings.read() if settings is None else settings
    root = settings.config_root
    named = (*settings.task_config_dir, *([] if root is None else [root / "tasks"]))
    # The folder of MLGym's document, unless a variable names another.
    return (BUNDLED, *(named or (HERE,)))


def find_tasks(settings: MlgymSettings | None = None) -> Found:
    """Return every task on the search path, in its order."""
    tasks: dict[Path, Task] = {}
    broken: dict[Path, TaskError] = {}
    for file in _task_files(search_path(settings)):
        try:
            tasks[file] = _task_of(file)
        except TaskError as problem:
            broken[file] = problem
    return Found(tuple(tasks.values()), broken)


def bundled_tasks() -> tuple[Task, ...]:
    """Return the tasks that come with Ludus.

    Raises:
        TaskError: The file of one is wrong.
    """
    return tuple(_task_of(file) for file in _task_files((BUNDLED,)))


def task_ids() -> tuple[str, ...]:
    """Return the ids of all tasks, sorted; a file that describes none is warned of."""
    found = find_tasks()
    for problem in found.broken.values():
        logger.warn(f"A task is left out. {problem}")
    return tuple(sorted({task.id for task in found.tasks}))


def load_task(id_or_path: str | Path | Task | TaskConfig | Mapping[str, Any]) -> Task:
    """Load a task.

    Args:
        id_or_path: Its id, its environment's id, the path of its folder or file, the
            ``"module:name"`` of its class, or its configuration. Text with a ``/`` in it, or that
            ends in ``.yaml``, is a path. A configuration finds its other files in the folder of
            its id on the search path.

    Raises:
        TaskError: There is none, there are several of this id, or its file is wrong; the message
            names the file, the line, the field and the fix.
    """
    if isinstance(id_or_path, Task):
        return id_or_path
    if isinstance(id_or_path, TaskConfig | Mapping):
        return _configured(id_or_path)
    if isinstance(id_or_path, str):
        wanted = id_or_path.removeprefix("mlgym/").removesuffix("-v0")
        if classes.is_entry_point(wanted):
            return classes.task_of_class(wanted, files=_by_id)
        if not ("/" in wanted or wanted.endswith(_SUFFIXES) or wanted in (".", "..")):
            return _by_id(wanted)
    path = Path(id_or_path)
    return _task_of((path / TASK_FILE if path.is_dir() else path).absolute())


def read_text(file: Path) -> str:
    """Return the text of a task's file.

    Raises:
        TaskError: It cannot be read.
    """
    try:
        return foreign_files.read_text(file, 4 * LONGEST)
    except UnicodeDecodeError as problem:
        raise TaskError(f"{file} is not UTF-8: {problem}. Save it as UTF-8.") from problem
    except OSError as problem:
        raise TaskError(
            f"There is no task at {file}: {problem.strerror}. Give a task's id, or the path of its "
            f"folder, which holds a {TASK_FILE}; 'ludus task list' shows what there is."
        ) from problem


def base_of(text: str, file: Path) -> Task | None:
    """Return the task that a task extends, by the text of its file.

    ``extends`` names the other task's folder, relative to the file's.

    Raises:
        TaskError: There is no such task, or it extends another one itself.
    """
    if re.search(r"^extends\b", text, re.MULTILINE) is None:
        return None
    try:
        data = read_yaml(text).data
    except YamlError:
        return None  # parse_config says what is wrong
    named = data.get("extends") if isinstance(data, dict) else None
    if not isinstance(named, str) or Path(named).is_absolute():
        raise TaskError(
            f"{file}: extends is {named!r:.80}; expected the path of another task's folder, "
            "relative to this file, such as ../my_task."
        )
    other = Path(os.path.normpath(file.parent / named / TASK_FILE))
    said = read_text(other)
    if re.search(r"^extends\b", said, re.MULTILINE):
        raise TaskError(f"{file}: extends names {named!r}, which extends another task itself.")
    return Task(parse_config(said, str(other)), other, other.parent)


def _task_of(file: Path) -> Task:
    text = read_text(file)
    base = base_of(text, file)
    config = parse_config(text, str(file), None if base is None else base.config)
    folder = file.parent if file.name == TASK_FILE else file.with_suffix("")
    return Task(config, file, folder, base=base)


def _configured(given: TaskConfig | Mapping[str, Any]) -> Task:
    """Return the task of a configuration that is not in a file."""
    config = given if isinstance(given, TaskConfig) else config_of(given, "task_config")
    own = [folder for folder in search_path() if folder != BUNDLED]
    places = [folder.absolute() / config.id for folder in own]
    folder = next((place for place in places if place.is_dir()), places[-1])
    source = config.model_dump_json().encode()
    return classes.with_class(Task(config, folder / TASK_FILE, folder, source=source), files=_by_id)


def _task_files(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files of tasks in folders: of a task, of tasks' folders, of single files."""
    files: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            continue
        entries = sorted(folder.iterdir())
        inside = [entry / TASK_FILE for entry in entries if (entry / TASK_FILE).is_file()]
        single = [entry for entry in entries if entry.suffix in _SUFFIXES and entry.is_file()]
        files |= dict.fromkeys(path.absolute() for path in (*single, *inside))
    return tuple(files)


def _by_id(wanted: str) -> Task:
    found = find_tasks()
    matches = [task for task in found.tasks if task.id == wanted]
    if len(matches) == 1:
        return classes.with_class(matches[0], files=_by_id)
    if matches:
        places = " and ".join(str(task.file) for task in matches)
        raise TaskError(
            f"Several tasks have the id {wanted!r}: {places}. Give the path of the one you mean, "
            "or another id to one of them."
        )
    for file, problem in found.broken.items():
        if _claims(file, wanted):
            raise problem
    if (registered := classes.registered_task(wanted, files=_by_id)) is not None:
        return registered
    known = sorted({task.id for task in found.tasks})
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(wanted.lower(), folded, n=1)
    hint = f" Did you mean {folded[close[0]]!r}?" if close else ""
    missing = [str(one) for one in search_path() if not one.is_dir() and one != HERE]
    nowhere = f" These folders do not exist: {', '.join(missing)}." if missing else ""
    raise TaskError(
        f"There is no task {wanted!r}.{hint}{nowhere} Known: {', '.join(known) or 'none'}. Tasks "
        "of your own are found in ./configs/tasks or the folders that MLGYM_TASK_CONFIG_DIR names, "
        "by path, or after register_task."
    )


def _claims(file: Path, wanted: str) -> bool:
    """Whether a file that cannot be read as a task's seems to be the one of this id."""
    try:
        text = foreign_files.read_regular(file, 4 * LONGEST).decode(errors="replace")
    except OSError:
        return False
    return re.search(rf"^id:[ '\"]*{re.escape(wanted)}[ '\"]*$", text, re.MULTILINE) is not None
