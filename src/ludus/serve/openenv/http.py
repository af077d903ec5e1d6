"""OpenEnv's HTTP routes of one served environment.

``POST /reset`` opens a session, or begins an episode in the one that the header ``X-Session-ID``
names; its answer has the id in the same header. The other routes act on that session.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from ludus.errors import Error
from ludus.serve.errors import InvalidMessage, told
from ludus.serve.logs import log_failure
from ludus.serve.openenv.exchange import Exchange, Wire
from ludus.serve.openenv.openapi import LONGEST_WAIT, openapi_of
from ludus.serve.openenv.rpc import PARSE_ERROR, answer_rpc
from ludus.serve.openenv.tasks import Tasks
from ludus.serve.openenv.websocket import Endpoint
from ludus.serve.schemas import dumps
from ludus.serve.service import Service
from ludus.version import __version__

__all__ = ["SESSION_HEADER", "answer", "routes_of", "task_routes_of"]

SESSION_HEADER = "x-session-id"
_Handler = Callable[[Request], Awaitable[Response]]


def answer(data: Any, status: int = 200, session_id: str | None = None) -> Response:
    """Return data as JSON."""
    headers = {} if session_id is None else {SESSION_HEADER: session_id}
    return Response(dumps(data), status, headers, "application/json")


def routes_of(service: Service, wire: Wire, prefix: str) -> list[BaseRoute]:
    """Return the routes of one served environment below a prefix."""
    made = _Routes(service, wire)
    table: tuple[tuple[str, str, _Handler], ...] = (
        ("POST", "/reset", made.reset),
        ("POST", "/step", made.step),
        ("GET", "/state", made.state),
        ("POST", "/close", made.close),
        ("GET", "/metadata", made.metadata),
        ("GET", "/schema", made.schema),
        ("POST", "/mcp", made.rpc),
        ("GET", "/openapi.json", made.openapi),
    )
    return [
        WebSocketRoute(f"{prefix}/ws", Endpoint(service, wire)),
        *(
            Route(prefix + path, _guarded(service, wire, handler), methods=[method])
            for method, path, handler in table
        ),
    ]


def task_routes_of(service: Service, wire: Wire) -> list[BaseRoute]:
    """Return the routes of the task API, which begin with the name."""
    name, tasks = wire.served.name, Tasks(wire.served.name)

    async def splits(_: Request) -> Response:
        return answer(tasks.splits())

    def asking(make: Callable[[dict[str, Any]], Any]) -> _Handler:
        async def handler(request: Request) -> Response:
            try:
                return answer(make(await _body(request)))
            except IndexError:
                return answer({"detail": "Invalid task index"}, 400)

        return handler

    posts = {"tasks": tasks.all, "num_tasks": tasks.count, "task": tasks.one}
    posts["task_range"] = tasks.part
    return [
        Route(f"/{name}/splits", splits, methods=["GET"]),
        *(
            Route(f"/{name}/{path}", _guarded(service, wire, asking(make)), methods=["POST"])
            for path, make in posts.items()
        ),
    ]


class _Routes:
    """The handlers of one served environment."""

    def __init__(self, service: Service, wire: Wire) -> None:
        self._service, self._wire = service, wire

    async def reset(self, request: Request) -> Response:
        data = await _body(request)
        session_id = request.headers.get(SESSION_HEADER)
        if session_id is not None:
            exchange = self._service.find(session_id, self._wire.served.name)
            made = await exchange.reset(data)
        else:
            exchange = await self._service.open(self._wire.served.name, request.scope)
            try:
                made = await exchange.reset(data)
            except BaseException:
                await self._service.sessions.close(exchange.session.id)
                raise
        return answer(made, session_id=exchange.session.id)

    async def step(self, request: Request) -> Response:
        data = await _body(request)
        if not isinstance(data.get("action"), dict):
            raise InvalidMessage(["body", "action"], 'Expected {"action": {"action": VALUE}}.')
        wait = data.get("timeout_s")
        if wait is not None and not (isinstance(wait, int | float) and 0 < wait <= LONGEST_WAIT):
            raise InvalidMessage(["body", "timeout_s"], "Expected a positive number, or null.")
        exchange = self._exchange(request)
        try:
            made = await asyncio.wait_for(exchange.step(data["action"]), wait)
        except TimeoutError:
            told_late = f"The step took more than {wait} seconds; it goes on in the session."
            return answer({"detail": told_late, "code": "EXECUTION_ERROR"}, 504)
        return answer(made, session_id=exchange.session.id)

    async def state(self, request: Request) -> Response:
        if SESSION_HEADER not in request.headers:
            return answer({"episode_id": None, "step_count": 0})
        exchange = self._exchange(request)
        return answer(await exchange.state(), session_id=exchange.session.id)

    async def close(self, request: Request) -> Response:
        exchange = self._exchange(request)
        await self._service.sessions.close(exchange.session.id)
        return answer({"closed": True})

    async def metadata(self, request: Request) -> Response:
        served = self._wire.served
        return answer(
            {
                "name": served.name,
                "description": served.description,
                "readme_content": None,
                "version": __version__,
                "author": served.spec.author,
                "documentation_url": served.spec.homepage,
            }
        )

    async def schema(self, request: Request) -> Response:
        return answer(self._wire.schemas)

    async def rpc(self, request: Request) -> Response:
        try:
            data = json.loads(await request.body())
        except (ValueError, RecursionError):
            return answer(PARSE_ERROR)
        return answer(await answer_rpc(data, self._service, self._wire, scope=request.scope))

    async def openapi(self, request: Request) -> Response:
        return answer(openapi_of(self._wire, self._service.settings))

    def _exchange(self, request: Request) -> Exchange:
        session_id = request.headers.get(SESSION_HEADER)
        if session_id is None:
            raise InvalidMessage(
                ["header", SESSION_HEADER],
                "Over HTTP a session is known by its id: POST /reset first, and send the header "
                "X-Session-ID of its answer.",
                "missing",
            )
        return self._service.find(session_id, self._wire.served.name)


def _guarded(service: Service, wire: Wire, handler: _Handler) -> _Handler:
    """Return the handler with its exceptions as answers."""

    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except ClientDisconnect:
            return answer({"detail": "The request is too large, or ended too soon."}, 413)
        except Exception as problem:  # environments may raise anything
            heard = told(problem)
            if not isinstance(problem, Error | InvalidMessage):
                log_failure(wire.served.name, problem, heard)
            service.metrics.error(heard.code)
            detail: Any = heard.more.get("errors") or heard.message
            return answer({"detail": detail, "code": heard.code}, heard.status)

    return guarded


async def _body(request: Request) -> dict[str, Any]:
    """Return the body, a JSON object; an empty one is an empty object."""
    raw = await request.body()
    try:
        data = json.loads(raw) if raw else {}
    except (ValueError, RecursionError) as problem:
        raise InvalidMessage(["body"], f"Invalid JSON: {problem!s:.200}", "json_invalid") from None
    if not isinstance(data, dict):
        raise InvalidMessage(["body"], "Expected an object.", "dict_type")
    return data
