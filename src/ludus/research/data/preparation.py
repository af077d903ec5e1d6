"""Making what an episode starts from: a workspace, and labels that stay outside of it."""

from __future__ import annotations

import errno
import importlib.util
import shutil
import stat
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ludus.errors import DataMissing, TaskError
from ludus.research.task.task import Task

__all__ = ["Prepared", "load_program", "prepare"]

_SECRET = ("validation", "test")
_FULL = (errno.ENOSPC, errno.EDQUOT)


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
    if not task.workspace.is_dir() and not task.data_program.is_file():
        raise TaskError(
            f"Task {task.id} has neither a folder {task.workspace} nor a data.py; add what the "
            "agent is to start from."
        )
    for name in ("workspace", *_SECRET):
        if (task.folder / name).is_dir():
            _copy(task.folder / name, folder / name)
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
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module
