"""The null submissions of all bundled tasks: well-formed, and without any knowledge.

``NULLS[task_id](workspace)`` returns the files of one, path to bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ludus.research import find_tasks
from ludus.research.data.preparation import null_submission
from ludus.research.task.discovery import BUNDLED

NullSubmission = Callable[[Path], Mapping[str, bytes]]

NULLS: dict[str, NullSubmission] = {
    task.id: partial(null_submission, task)
    for task in find_tasks().tasks
    if task.folder.parent == BUNDLED
}
