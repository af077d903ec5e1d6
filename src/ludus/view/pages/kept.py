"""What pages keep as long as the application lives, made when it is first needed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["close_kept", "few_at_once", "kept"]

Kept = TypeVar("Kept")
_lock = threading.Lock()


def kept(app: Starlette, name: str, make: Callable[[], Kept]) -> Kept:
    """Return what the application's state has under a name; made by the first call."""
    with _lock:
        if not hasattr(app.state, name):
            setattr(app.state, name, make())
        found: Kept = getattr(app.state, name)
        return found


def close_kept(app: Starlette, name: str) -> None:
    """Close it, if it was ever made."""
    if hasattr(app.state, name):
        getattr(app.state, name).close()


def few_at_once(
    what: str, most: int, answer: Callable[[Request], Response]
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that waits for worker processes; at most so many of a kind at a time.

    The others wait without a thread, of which there are forty for all pages.
    """

    async def endpoint(request: Request) -> Response:
        places = kept(request.app, f"places_{what}", lambda: asyncio.Semaphore(most))
        async with places:
            return await run_in_threadpool(answer, request)

    return endpoint
