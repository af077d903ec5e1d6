"""Telling a Ctrl-C of the user from a ``KeyboardInterrupt`` that an agent raises."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType
from typing import Any, Self

__all__ = ["CtrlC"]


class CtrlC:
    """Notes each SIGINT that interrupts this process, while the context is entered.

    An agent that raises ``KeyboardInterrupt`` has failed. The user's Ctrl-C ends the run even if
    the agent's code catches it.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._pressed = False

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        # Only the main thread may set handlers, and only there do interrupts arrive.
        with contextlib.suppress(ValueError):
            if callable(before):
                signal.signal(signal.SIGINT, self._handle)
                self._before = before
        return self

    def __exit__(self, *exc: object) -> None:
        before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGINT, before)

    def check(self) -> None:
        """Raise if the user has interrupted the process.

        Raises:
            KeyboardInterrupt: The user has.
        """
        if self._pressed:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before(number, frame)
        except KeyboardInterrupt:
            self._pressed = True
            raise
