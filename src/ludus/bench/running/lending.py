"""Recordings of environments that an agent gets into its hands."""

from __future__ import annotations

from typing import Any

from ludus.record.episodes.record_episodes import RecordEpisodes
from ludus.record.episodes.record_vector_episodes import RecordVectorEpisodes

__all__ = ["LentEpisodes", "LentVectorEpisodes"]


class LentEpisodes(RecordEpisodes[Any, Any]):
    """A recording whose ``close`` leaves it interrupted: only the runner completes it."""

    def close(self) -> None:
        """End the recording as interrupted; the runner then knows that the agent closed it."""
        self._end("interrupted")


class LentVectorEpisodes(RecordVectorEpisodes[Any, Any]):
    """As :class:`LentEpisodes`, of a vector environment."""

    def close(self, **kwargs: Any) -> None:
        """End the recording as interrupted; the runner then knows that the agent closed it."""
        self._end("interrupted", **kwargs)
