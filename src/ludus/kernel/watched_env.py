"""Environments that detect in-place edits by the user, at no cost if there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core.env import Env

__all__ = ["WatchedEnv"]


class WatchedEnv(Env[Any, Any]):
    """An environment whose step function can be replaced temporarily.

    A subclass that returns an editable object, such as the state as an array, calls :meth:`_watch`;
    the next step then first reads the edits.
    """

    _advance: Callable[[Any], Any]
    _unwatched: Callable[[Any], Any]
    _holding = False
    """Whether the user has a reference to an object that a reset invalidates."""

    def _watch(self) -> None:
        """Make the next step call :meth:`_before_step` first."""
        if self._advance != self._watched_advance:
            self._unwatched, self._advance = self._advance, self._watched_advance

    def _is_watched(self) -> bool:
        """Return whether the user has an editable object that the next step must read."""
        return False

    def _before_step(self, action: Any) -> None:
        """Read the user's edits; for subclasses."""

    def _after_step(self) -> None:
        """Called after a watched step; for subclasses."""

    def _watched_advance(self, action: Any) -> Any:
        self._before_step(action)
        self._advance = self._unwatched
        try:
            result = self._advance(action)
            self._after_step()
        finally:
            if self._is_watched():
                self._watch()
        return result

    def _take_edits(self) -> None:
        """Write the user's edits to the storage; for subclasses."""

    def _forget_edits(self) -> None:
        """Release the editable objects before a reset; for subclasses.

        Called while :attr:`_holding` is true.
        """
