"""Where the calls of a session run.

Compiled kernels take microseconds, less than handing a call to a thread, so they run inline in the
event loop. Everything else (physics engines, sandboxes, research tasks) may take long, so that
each such session has one thread. Either way the calls of a session run one after the other, in the
order in which they were made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

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
    """Runs calls in one thread, in order."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, f"session-{name}")

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns.

        If the waiting task is cancelled, a call that has begun still runs to its end.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self, last: Callable[[], object] | None = None) -> None:
        """End the thread after the calls that it was given, and a ``last`` one."""
        if last is not None:
            self._pool.submit(last)
        self._pool.shutdown(wait=False)


def runs_inline(env: object) -> bool:
    """Whether the calls of an environment are short enough for the event loop."""
    inner = env.unwrapped if isinstance(env, Env) else getattr(env, "unwrapped", env)
    kind = type(inner)
    return issubclass(kind, KernelEnv | KernelVectorEnv) and kind.__module__.startswith("ludus.")
