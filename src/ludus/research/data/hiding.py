"""What the sandboxes of an agent must not show although the system folders around it are there."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ludus.research.data.sources import fetched_root, given_folders, hub_cache
from ludus.research.task.discovery import BUNDLED, bundled_tasks
from ludus.research.task.task import Task

__all__ = ["bundled_hidden", "hidden_paths"]

_PREFIXES = ("/usr", "/usr/local")
_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")


def hidden_paths(task: Task) -> tuple[Path, ...]:
    """Return the existing paths that are hidden in sandboxes with an agent's code.

    These are graders, reference solutions, and the installed files from which labels are made. What
    one bundled task hides is hidden in the sandboxes of all tasks: they show the same packages, and
    an agent could carry labels from one episode to another.
    """
    hidden = dict.fromkeys((*task.config.hidden, *bundled_hidden()))
    named = (path for place in hidden for path in _resolved(place))
    base = [] if task.base is None else [task.base.folder]
    given = (*given_folders().values(), fetched_root(), hub_cache())
    places = [BUNDLED, task.folder, *base, *named, *given]
    found = dict.fromkeys(path.resolve() for path in places if path.exists())
    return tuple(path for path in found if not any(parent in found for parent in path.parents))


@cache
def bundled_hidden() -> tuple[str, ...]:
    """Return what the tasks that come with Ludus hide, as their files name it."""
    return tuple(dict.fromkeys(place for task in bundled_tasks() for place in task.config.hidden))


def _resolved(place: str) -> Iterator[Path]:
    module, colon, inside = place.rpartition(":")
    if not colon:
        yield Path(place)
        return
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    for folder in (spec.submodule_search_locations if spec else None) or ():
        yield Path(folder, inside)
    # The same package may be installed for the system's Python too, which sandboxes show as well.
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix, *_PREFIXES)):
        for pattern in _PACKAGES:
            for packages in Path(prefix).glob(pattern):
                yield packages.joinpath(*module.split("."), inside)
