"""What small protocols over HTTP share: an application of their own, bodies, answers and events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from ludus.errors import ServeError
from ludus.optional import missing
from ludus.serve.errors import InvalidMessage
from ludus.serve.schemas import dumps
from ludus.serve.served import Served
from ludus.serve.service import Service
from ludus.serve.settings import ServeSettings

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    from ludus.serve.guard import Guard
except ModuleNotFoundError as problem:
    raise missing(problem.name or "starlette", extra="serve", purpose="The server") from problem

__all__ = ["PROTOCOLS", "answer", "create_bridge", "read_object", "result_stream"]

_PIECE = 4096
_BEAT_SECONDS = 10.0
_STREAM = {"cache-control": "no-cache", "x-accel-buffering": "no"}


PROTOCOLS = {"nemo-gym": "nemo_gym", "open-reward": "open_reward"}
"""Protocols that have a server to themselves, and their modules."""


def create_bridge(served: Sequence[Served], settings: ServeSettings, protocol: str) -> Starlette:
    """Return an application with the routes of one protocol; its state has the ``service``.

    Raises:
        ServeError: There is no such protocol.
    """
    if protocol not in PROTOCOLS:
        raise ServeError(f"There is no protocol {protocol!r:.60}; there are {list(PROTOCOLS)}.")
    routes = import_module(f"ludus.serve.{PROTOCOLS[protocol]}").routes
    service = Service(served, settings)

    async def health(_request: Request) -> Response:
        return answer({"status": "ok"})

    app = Starlette(
        routes=[Route("/health", health, methods=["GET"]), *routes(service)],
        middleware=[Middleware(Guard, service=service)],
        exception_handlers={HTTPException: _refused, InvalidMessage: _invalid},
        lifespan=_lifespan,
    )
    app.state.service = service
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    service: Service = app.state.service
    for one in service.sessions.served.values():
        # Here, so that what cannot be made is told at the start and not to the first client.
        await asyncio.to_thread(getattr, one, "facts")
    try:
        yield
    finally:
        await service.sessions.close_all(seconds=service.settings.grace_seconds)


async def _refused(_request: Request, problem: Exception) -> Response:
    known = problem if isinstance(problem, HTTPException) else HTTPException(500)
    return answer({"detail": known.detail}, known.status_code, known.headers)


async def _invalid(_request: Request, problem: Exception) -> Response:
    return answer({"detail": getattr(problem, "errors", str(problem))}, 422)


def answer(data: Any, status: int = 200, headers: Any = None) -> Response:
    """Return data as JSON."""
    return Response(dumps(data), status, headers, "application/json")


async def read_object(request: Request) -> dict[str, Any]:
    """Return the body, a JSON object; an empty one is an empty object.

    Raises:
        HTTPException: It is something else.
    """
    raw = await request.body()
    try:
        data = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body is no JSON.") from None
    if not isinstance(data, dict):
        raise HTTPException(422, "The body is no object.")
    return data


def result_stream(name: str, result: asyncio.Future[Any] | None) -> Response:
    """Return a stream of events: ``task_id`` with a name, and the result as JSON when it is there.

    The result comes in pieces, ``chunk`` and last ``end``; of ``None`` an empty one. An ``error``
    comes instead if there is none. A client that leaves does not cancel the work.
    """

    async def events() -> AsyncIterator[str]:
        yield _event("task_id", name)
        if result is None:
            yield _event("end", "")
            return
        while not result.done():
            await asyncio.wait([result], timeout=_BEAT_SECONDS)
            if not result.done():
                yield ": ping\n\n"
        problem = result.exception()
        if problem is not None:
            yield _event("error", " ".join(str(problem).split())[:2000])
            return
        pieces = list(_pieces(dumps(result.result())))
        for number, piece in enumerate(pieces, 1):
            yield _event("end" if number == len(pieces) else "chunk", piece)

    return StreamingResponse(events(), 200, _STREAM, "text/event-stream")


def _event(kind: str, data: str) -> str:
    return f"event: {kind}\ndata: {data}\n\n"


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that do not begin with a space, which readers of events remove."""
    begin = 0
    while begin < len(text):
        end = begin + _PIECE
        while end < len(text) and text[end].isspace():
            end += 1
        yield text[begin:end]
        begin = end
