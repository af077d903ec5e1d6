"""A thread that belongs to one sandbox and starts all of its processes.

In Linux, unshared namespaces and the parent-death signal belong to a thread, not to a process. One
thread therefore lives as long as the sandbox; what it has unshared is private to the sandbox.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from ludus.errors import SandboxClosed

__all__ = ["Worker"]

_T = TypeVar("_T")
# concurrent.futures has a class for this, and takes longer to import than a sandbox to open.
_Answers = SimpleQueue[tuple[Any, BaseException | None]]


class Worker:
    """Runs functions one after the other in its own thread, called ``name``."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[tuple[_Answers, Callable[[], Any]] | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._closed = False
        # A daemon: a forgotten sandbox must not keep the interpreter from ending.
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def call(self, function: Callable[[], _T]) -> _T:
        """Run ``function`` in the thread and return its result, or raise its exception.

        Raises:
            SandboxClosed: the thread has ended.
        """
        answers: _Answers = SimpleQueue()
        with self._guard:
            if self._closed:
                raise SandboxClosed("The sandbox is being closed.")
            self._queue.put((answers, function))
        value: _T
        value, error = answers.get()
        try:
            if error is not None:
                raise error
            return value
        finally:
            del error  # which refers to this frame

    def close(self) -> None:
        """End the thread once everything asked of it is done."""
        with self._guard:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (item := self._queue.get()) is not None:
            answers, function = item
            try:
                answers.put((function(), None))
            except BaseException as error:  # raised in the calling thread
                answers.put((None, error))
            # Do not keep the last call's values alive until the next one.
            del item, answers, function
