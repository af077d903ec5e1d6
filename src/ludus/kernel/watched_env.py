"""Environments that notice what users edit in place, at no cost for those who edit nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core.env import Env

__all__ = ["WatchedEnv"]


class WatchedEnv(Env[Any, Any]):
    """An environment whose step is a function that can be replaced for a while.

    A subclass that hands out something editable, such as the state as an array, calls
    :meth:`_watch`; the next step then reads the edits before it is made.
    """

    _advance: Callable[[Any], Any]
    _unwatched: Callable[[Any], Any]
    _holding = False
    """Whether the user holds something that a reset makes worthless."""

    def _watch(self) -> None:
        """Have the next step call :meth:`_before_step` first."""
        if self._advance != self._watched_advance:
            self._unwatched, self._advance = self._advance, self._watched_advance

    def _is_watched(self) -> bool:
        """Tell whether the user holds something that the next step must look at."""
        return False

    def _before_step(self, action: Any) -> None:
        """Read what the user may have edited; for subclasses that watch."""

    def _after_step(self) -> None:
        """Note that a watched step was made; for subclasses that watch."""

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
        """Write what the user edited in place into the storage; for subclasses."""

    def _forget_edits(self) -> None:
        """Let go of what the user may still edit, as another state comes; for subclasses.

        Called at a reset while :attr:`_holding` is true.
        """
