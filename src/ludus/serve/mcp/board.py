"""The episodes that a server offers: found by handle, and their saved states."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from ludus.core.state_files import load_state, save_state
from ludus.errors import CapacityReached, ServeError
from ludus.serve.episodes import Episode, Episodes
from ludus.serve.served import Served
from ludus.serve.sessions import Sessions

__all__ = ["Board"]

_MOST_STATES = 1000


class Board:
    """Episodes of one environment or research task, by handle; ``find`` and ``close`` are theirs.

    Args:
        sessions: Where they run.
        served: The environment or task.
        states: Folder for saved states; it is made when the first is saved.
    """

    def __init__(self, sessions: Sessions, served: Served, states: Path) -> None:
        self.served = served
        self._states = states
        self._episodes = Episodes(sessions)
        self.find, self.close = self._episodes.find, self._episodes.close

    async def begin(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Episode:
        """Begin an episode.

        Raises:
            CapacityReached: There are too many.
            Error: The environment cannot be made or reset.
        """
        return await self._episodes.begin(self.served.name, seed=seed, options=options)

    async def save(self, handle: str) -> str:
        """Save the state of an episode and return its name.

        Raises:
            SessionGone: There is no such episode.
            StateError: The environment cannot save its state.
            CapacityReached: There are too many states.
            OSError: The file cannot be written.
        """
        episode = self.find(handle)
        kept = len(list(self._states.iterdir())) if self._states.is_dir() else 0
        if kept >= _MOST_STATES:
            raise CapacityReached(
                f"{kept} states are saved, which is the most. Remove some from {self._states}.",
                active=kept,
                most=_MOST_STATES,
            )
        state = await episode.state()
        name = secrets.token_hex(16)
        self._states.mkdir(parents=True, exist_ok=True)
        save_state(state, self._file(name))
        return name

    async def restore(self, name: str, handle: str | None = None) -> Episode:
        """Continue from a saved state, in an episode or in a new one.

        Raises:
            ServeError: There is no such state.
            SessionGone: There is no such episode.
            StateError: The state does not fit.
        """
        file = self._file(name)
        if not file.is_file():
            raise ServeError(f"There is no saved state {name!r:.100}.")
        saved = load_state(file)
        if handle is None:
            episode = await self._episodes.open(self.served.name)
        else:
            episode = self.find(handle)
        try:
            await episode.restore(saved)
        except BaseException:
            if handle is None:
                await self.close(episode.handle)
            raise
        return episode

    def _file(self, name: str) -> Path:
        return self._states / f"{name}.state"
