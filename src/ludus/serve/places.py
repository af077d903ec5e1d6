"""Where the calls of a session run.

Compiled kernels take microseconds, less than handing a call to a thread, so they run inline in the
event loop. Everything else (physics engines, sandboxes, research tasks) may take long, so that
each such session has one thread. Either way the calls of a session run one after the other, in the
order in which they were made.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from ludus.core import Env
from ludus.kernel import KernelEnv, KernelVectorEnv

__all__ = ["Inline", "Place", "WorkerThread", "runs_inline"]

T = TypeVar("T")


class Place(Protocol):
    """Runs the calls of one session in order."""

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns, or raise what it raises."""
        ...

    def close(self, last: Callable[[], object] | None = None) -> None:
        """Give up the place, after the calls under way and a ``last`` one; does not wait."""
        ...


class Inline:
    """Runs calls in the event loop, which they hold up."""

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns."""
        return call()

    def close(self, last: Callable[[], object] | None = None) -> None:
        """Run the last call."""
        if last is not None:
            last()


class WorkerThread:
    """Runs calls in one thread, in order.

    The thread ends with the process, whatever it does then: a step that hangs must not keep a
    server from stopping.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True).start()

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns.

        If the waiting task is cancelled, a call that has begun still runs to its end.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.put(_Call(call, loop, future))
        return await future

    def close(self, last: Callable[[], object] | None = None) -> None:
        """End the thread after the calls that it was given, and a ``last`` one."""
        if last is not None:
            self._calls.put(_Call(last))
        self._calls.put(None)


@dataclass(slots=True)
class _Call:
    """A call, and who waits for it."""

    call: Callable[[], Any]
    loop: asyncio.AbstractEventLoop | None = None
    future: asyncio.Future[Any] | None = None

    def make(self) -> None:
        """Make the call, unless nobody waits for it any more."""
        if self.future is not None and self.future.cancelled():
            return
        value, problem = None, None
        try:
            value = self.call()
        except BaseException as raised:  # environments may raise anything
            problem = raised
        if self.loop is not None:
            with suppress(RuntimeError):  # the server has stopped meanwhile
                self.loop.call_soon_threadsafe(self._tell, value, problem)

    def _tell(self, value: Any, problem: BaseException | None) -> None:
        if self.future is None or self.future.done():
            return
        if problem is None:
            self.future.set_result(value)
        elif isinstance(problem, StopIteration):
            # A future cannot raise it.
            self.future.set_exception(RuntimeError(f"StopIteration: {problem}"))
        else:
            self.future.set_exception(problem)


def _work(calls: SimpleQueue[_Call | None]) -> None:
    while (call := calls.get()) is not None:
        call.make()
        del call  # with what it returned, until the next one comes


def runs_inline(env: object) -> bool:
    """Whether the calls of an environment are short enough for the event loop."""
    inner = env.unwrapped if isinstance(env, Env) else getattr(env, "unwrapped", env)
    kind = type(inner)
    return issubclass(kind, KernelEnv | KernelVectorEnv) and kind.__module__.startswith("ludus.")
