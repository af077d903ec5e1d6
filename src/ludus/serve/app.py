"""The application: routes of everything that is served, behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ludus.optional import missing
from ludus.serve.logs import log_event
from ludus.serve.metrics import CONTENT_TYPE
from ludus.serve.served import Served
from ludus.serve.service import Service
from ludus.serve.settings import ServeSettings

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route

    from ludus.serve.guard import Guard
    from ludus.serve.openenv.http import answer, routes_of, task_routes_of
except ModuleNotFoundError as problem:
    raise missing(problem.name or "starlette", extra="serve", purpose="The server") from problem

__all__ = ["create_app"]


def create_app(
    served: Sequence[Served],
    settings: ServeSettings | None = None,
    *,
    more_routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return the server as an ASGI application; its state has the ``service``.

    The first of what is served has OpenEnv's routes at the root; each one has them below
    ``/env/NAME``.

    Args:
        served: What it offers.
        settings: Its settings; by default for this machine only.
        more_routes: Routes of other protocols.
    """
    service = Service(served, settings or ServeSettings())
    wires = list(service.wires.values())

    async def health(_: Request) -> Response:
        is_open = not service.sessions.is_closed
        return answer({"status": "healthy" if is_open else "unhealthy"}, 200 if is_open else 503)

    async def names(_: Request) -> Response:
        return answer(list(service.wires))

    async def metrics(_: Request) -> Response:
        return Response(service.metrics.text(service.sessions), 200, media_type=CONTENT_TYPE)

    app = Starlette(
        routes=[
            *routes_of(service, wires[0], ""),
            Route("/health", health, methods=["GET"]),
            Route("/metrics", metrics, methods=["GET"]),
            Route("/list_environments", names, methods=["GET"]),
            *more_routes,
            *(
                route
                for wire in wires
                for route in (
                    *routes_of(service, wire, f"/env/{wire.served.name}"),
                    Route(f"/env/{wire.served.name}/health", health, methods=["GET"]),
                    Route(f"/env/{wire.served.name}/list_environments", names, methods=["GET"]),
                    *task_routes_of(service, wire),
                )
            ),
        ],
        middleware=[Middleware(Guard, service=service)],
        exception_handlers={HTTPException: _refused},
        lifespan=_lifespan,
    )
    app.state.service = service
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    service: Service = app.state.service
    for one in service.sessions.served.values():
        # A server starts only if all can be made; with serve(), they were.
        await asyncio.to_thread(getattr, one, "facts")
    try:
        yield
    finally:
        await service.sessions.close_all(seconds=service.settings.grace_seconds)
        log_event("server stopped", steps=service.sessions.total_steps)


async def _refused(_: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    headers = getattr(problem, "headers", None) or {}
    said = answer({"detail": getattr(problem, "detail", "Something went wrong")}, status)
    said.headers.update(headers)
    return said
