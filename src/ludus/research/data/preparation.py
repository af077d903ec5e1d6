"""Making what an episode starts from: a workspace, and labels that stay outside of it."""

from __future__ import annotations

import errno
import importlib.util
import shutil
import stat
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ludus.errors import DataMissing, TaskError
from ludus.research.task.task import Task

__all__ = ["Prepared", "load_program", "null_submission", "prepare"]

_SECRET = ("validation", "test")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_loading = threading.RLock()


@dataclass(frozen=True, slots=True)
class Prepared:
    """The folders of one episode: the workspace, and the labels, which no agent's sandbox shows."""

    workspace: Path
    validation: Path
    test: Path


def prepare(task: Task, seed: int, folder: Path) -> Prepared:
    """Write a task's workspace and labels into an empty or new folder.

    ``workspace``, ``validation`` and ``test`` of the task's folder are copied, then its
    ``data.py``, which runs in this process, adds to them with ``build(folder, seed)``. The same
    seed gives the same bytes.

    Raises:
        DataMissing: Data has to be fetched first; the message says how.
        TaskError: The task has no workspace, or its ``data.py`` failed.
        OSError: The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    has_start = task.workspace.is_dir() or task.data_program.is_file()
    if not has_start and not task.grades_itself:
        raise TaskError(
            f"Task {task.id} has neither a folder {task.workspace} nor a data.py; add what the "
            "agent is to start from."
        )
    for name in ("workspace", *_SECRET):
        for layer in task.layers(name):
            _copy(layer, folder / name)
        (folder / name).mkdir(exist_ok=True)
    if task.data_program.is_file():
        _build(task, seed, folder)
    return Prepared(folder / "workspace", folder / "validation", folder / "test")


def _copy(source: Path, target: Path) -> None:
    """Copy a tree of plain files; a link could lead the agent to what it must not see."""
    for path in source.rglob("*"):
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise TaskError(
                f"{path} is neither a file nor a folder; put a copy of what it stands for there."
            )
    ignored = shutil.ignore_patterns("__pycache__", ".git")
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)


def _build(task: Task, seed: int, folder: Path) -> None:
    try:
        module = load_program(task.data_program)
        module.build(folder, seed)
    except DataMissing:
        raise
    except Exception as problem:  # the task's own code
        if isinstance(problem, OSError) and problem.errno in _FULL:
            raise
        frames = traceback.extract_tb(problem.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == str(task.data_program)]
        line = f", line {own[-1]}" if own else ""
        raise TaskError(
            f"{task.data_program}{line}: build(folder, seed={seed}) failed with "
            f"{type(problem).__name__}: {problem}"
        ) from problem


def load_program(file: Path) -> ModuleType:
    """Import a program of a task's folder, afresh.

    Raises:
        TaskError: It is not a Python file.
        Exception: Whatever its own code raises.
    """
    name = f"ludus_task_{file.parent.name}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise TaskError(f"{file} cannot be loaded as Python.")
    module = importlib.util.module_from_spec(spec)
    # Episodes in other threads may load the same program, which has one name while it runs.
    with _loading:
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules[name]
    return module


def null_submission(task: Task, workspace: Path) -> dict[str, bytes] | None:
    """Return the files of the null submission, well-formed and made without any knowledge.

    If the workspace or the baseline holds all files of a submission, those are it. Otherwise a task
    may have a ``null.py``, run in this process, with ``null_submission(workspace)``, which returns
    the files by path; ``None`` without one. A grader that fails on a submission is tried with it.

    Raises:
        TaskError: ``null.py`` failed, or returned something else.
    """
    program = task.part("null.py")
    paths = [item.path for item in task.submission]
    if not program.is_file():
        found = {path: _found(path, workspace, task.baseline) for path in paths}
        whole = {path: file.read_bytes() for path, file in found.items() if file is not None}
        return whole if paths and len(whole) == len(paths) else None
    try:
        made = load_program(program).null_submission(workspace)
    except Exception as problem:  # whatever the task's own code raises
        raise TaskError(
            f"{program}: null_submission(workspace) failed with {type(problem).__name__}: {problem}"
        ) from problem
    if not isinstance(made, dict) or sorted(made) != sorted(paths):
        raise TaskError(f"{program}: null_submission(workspace) must return {', '.join(paths)}.")
    return made


def _found(path: str, *folders: Path) -> Path | None:
    return next((folder / path for folder in folders if (folder / path).is_file()), None)
