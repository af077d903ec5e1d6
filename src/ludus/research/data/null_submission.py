"""The null submission of a task: well-formed, and made without any knowledge.

If the workspace or the baseline holds all files of a submission, those are it. Otherwise a task may
have a ``null.py`` with ``null_submission(workspace)``, which returns the files by path. A grader
that fails on a submission is tried with it.
"""

from __future__ import annotations

from pathlib import Path

from ludus.errors import TaskError
from ludus.research.data.preparation import load_program
from ludus.research.task.task import Task

__all__ = ["null_submission"]


def null_submission(task: Task, workspace: Path) -> dict[str, bytes] | None:
    """Return the files of the null submission; ``None`` if the task has none.

    The task's ``null.py`` runs in this process.

    Raises:
        TaskError: ``null.py`` failed, or returned something else.
    """
    program = task.folder / "null.py"
    paths = [item.path for item in task.config.submission]
    if not program.is_file():
        found = {path: _found(path, workspace, task.baseline) for path in paths}
        whole = {path: file.read_bytes() for path, file in found.items() if file is not None}
        return whole if len(whole) == len(paths) else None
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
