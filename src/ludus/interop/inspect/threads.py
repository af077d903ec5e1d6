"""Blocking calls in an asynchronous program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

__all__ = ["in_thread"]

_T = TypeVar("_T")


async def in_thread(call: Callable[[], _T]) -> _T:
    """Run a blocking call in a thread, however many others run, and leave it if cancelled.

    A command that is left runs on until its own time limit, or until its sandbox is closed.
    """
    return await anyio.to_thread.run_sync(
        call, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
    )
