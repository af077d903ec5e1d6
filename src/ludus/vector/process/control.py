"""Commands and status codes that parent and worker exchange in shared memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["CLOSE", "COLUMNS", "FAILED", "NOTHING", "PIPE", "REQUEST", "STEP", "Control"]

STEP, REQUEST, CLOSE = 0, 1, 2
"""Commands: step with the actions in shared memory; read a request from the pipe; end."""

NOTHING, COLUMNS, PIPE, FAILED = 0, 1, 2, 3
"""Status codes: no message; infos in columns; a message in the pipe; a failure in the pipe."""


class Control:
    """Command, status and progress of one worker, in shared memory.

    The parent writes before it sends "go", the worker before it sends "done". ``env_index`` may be
    read at any time: after a crash it is the environment that was running.
    """

    def __init__(self, context: Any) -> None:
        self._words = context.RawArray("q", [0, 0, -1])

    @property
    def working_on(self) -> Callable[[int], None]:
        """A function that sets ``env_index``, faster than the property."""
        return functools.partial(self._words.__setitem__, 2)

    @property
    def command(self) -> int:
        """The parent's command."""
        return self._words[0]  # type: ignore[no-any-return]

    @command.setter
    def command(self, value: int) -> None:
        self._words[0] = value

    @property
    def status(self) -> int:
        """The status code of the worker's answer."""
        return self._words[1]  # type: ignore[no-any-return]

    @status.setter
    def status(self, value: int) -> None:
        self._words[1] = value

    @property
    def env_index(self) -> int:
        """The environment whose code is running, -1 for none."""
        return self._words[2]  # type: ignore[no-any-return]

    @env_index.setter
    def env_index(self, value: int) -> None:
        self._words[2] = value
