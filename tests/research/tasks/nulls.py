"""The null submissions of all bundled tasks: well-formed, and without any knowledge.

``NULLS[task_id](workspace)`` returns the files of one, path to bytes. Each is the
``null_submission`` of the module ``null_<folder>.py`` beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from ludus.research import find_tasks
from ludus.research.discovery import BUNDLED

NullSubmission = Callable[[Path], Mapping[str, bytes]]


def _nulls() -> dict[str, NullSubmission]:
    made = {}
    for task in find_tasks().tasks:
        name = f"null_{task.folder.name}"
        if task.folder.parent == BUNDLED and Path(__file__).with_name(f"{name}.py").is_file():
            made[task.id] = import_module(f"tests.research.tasks.{name}").null_submission
    return made


NULLS: dict[str, NullSubmission] = _nulls()
