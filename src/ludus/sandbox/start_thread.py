"""A thread that belongs to one sandbox and starts all of its processes.

In Linux, unshared namespaces and the parent-death signal belong to a thread, not to a process. One
thread therefore lives as long as the sandbox; what it has unshared is private to the sandbox.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from ludus.errors import SandboxClosed

__all__ = ["Worker"]

_T = TypeVar("_T")


class Worker:
    """Runs functions one after the other in its own thread, called ``name``."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
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
        future: Future[_T] = Future()
        with self._guard:
            if self._closed:
                raise SandboxClosed("The sandbox is being closed.")
            self._queue.put((future, function))
        return future.result()

    def close(self) -> None:
        """End the thread once everything asked of it is done."""
        with self._guard:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (item := self._queue.get()) is not None:
            future, function = item
            try:
                future.set_result(function())
            except BaseException as error:  # raised in the calling thread
                future.set_exception(error)
            # Do not keep the last call's values alive until the next one.
            del item, future, function
