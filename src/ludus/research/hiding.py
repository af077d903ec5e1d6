"""What the boxes of an agent must not show although the system folders around it are there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ludus.research.discovery import BUNDLED
from ludus.research.task import Task

__all__ = ["hidden_paths"]


def hidden_paths(task: Task) -> tuple[Path, ...]:
    """Return the existing paths that boxes in which an agent's code runs have to cover.

    Graders and reference solutions come with Ludus, and labels are made from files that packages
    installed; the folders of both are mounted in every box.
    """
    places = [BUNDLED, task.folder, *(_resolved(place) for place in task.config.hidden)]
    found = dict.fromkeys(path.resolve() for path in places if path is not None and path.exists())
    return tuple(path for path in found if not any(parent in found for parent in path.parents))


def _resolved(place: str) -> Path | None:
    module, colon, inside = place.rpartition(":")
    if not colon:
        return Path(place)
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((Path(folder, inside) for folder in folders), None)
