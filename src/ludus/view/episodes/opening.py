"""Opens whatever is shown as an episode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ludus.view.episodes.episode import EpisodeRecord, open_episode
from ludus.view.episodes.trajectory import ListedTrajectory
from ludus.view.library import Found

__all__ = ["AnyTrajectory", "open_trajectory"]

AnyTrajectory: TypeAlias = EpisodeRecord | ListedTrajectory


@contextmanager
def open_trajectory(found: Found) -> Iterator[AnyTrajectory]:
    """Open the record of an episode, or the file of another system.

    Raises:
        RecordError: It cannot be read.
    """
    if found.kind == "file":
        # Only then: reading other formats imports more than records need.
        from ludus.view.episodes.imported import read_imported

        yield read_imported(found.path)
        return
    with open_episode(found) as episode:
        yield episode
