"""The application: pages from the tables of routes, behind the guard."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ludus.errors import BenchError, Error, RecordError, ViewError
from ludus.optional import missing
from ludus.view.library import Library
from ludus.view.model.summary import Summaries
from ludus.view.settings import ViewSettings

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response
    from starlette.routing import Route

    from ludus.view import assets
    from ludus.view.guard import Guard
    from ludus.view.pages import PAGES
    from ludus.view.rendering import link, page
except ModuleNotFoundError as problem:
    raise missing(problem.name or "starlette", extra="view", purpose="The viewer") from problem

__all__ = ["create_app"]

_TITLES = {404: "Not found", 422: "Cannot be shown", 500: "Something went wrong"}


def create_app(settings: ViewSettings) -> Starlette:
    """Return the viewer as an ASGI application.

    Its state has ``settings``, ``library``, ``summaries`` and ``nav``. A module of ``pages`` has
    ``routes``; it may have ``nav``, an entry of the main navigation, and ``lifespan(app)``, a
    context manager around the life of the server.
    """
    modules = [import_module(f"ludus.view.pages.{name}") for name in PAGES]
    routes = [route for module in modules for route in module.routes]
    app = Starlette(
        routes=[Route("/", _home), *assets.routes, *routes],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers=_HANDLERS,
        lifespan=_lifespan([module.lifespan for module in modules if hasattr(module, "lifespan")]),
    )
    app.state.settings = settings
    app.state.library = Library(settings)
    app.state.summaries = Summaries(app.state.library)
    app.state.nav = [module.nav for module in modules if hasattr(module, "nav")]
    return app


def _home(request: Request) -> Response:
    """Lead to the only run there is, or to the list of runs."""
    found = request.app.state.library.all()
    return RedirectResponse(link("run", found[0].name) if len(found) == 1 else "/runs")


def _lifespan(parts: list[Any]) -> Any:
    from collections.abc import AsyncIterator
    from contextlib import AsyncExitStack, asynccontextmanager

    @asynccontextmanager
    async def all_of_them(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for part in parts:
                await stack.enter_async_context(part(app))
            yield

    return all_of_them


def _show(request: Request, status: int, message: str) -> Response:
    title = _TITLES.get(status, "This did not work")
    message = request.app.state.library.told(message)
    return page(request, "error.html", status=status, title=title, message=message)


def _http(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    told = {404: "There is no page at this address."}.get(status, getattr(problem, "detail", ""))
    return _show(request, status, told)


def _unknown(request: Request, problem: Exception) -> Response:
    return _show(request, 404, str(problem))


def _damaged(request: Request, problem: Exception) -> Response:
    return _show(request, 422, str(problem))


def _nested(request: Request, _: Exception) -> Response:
    return _show(request, 422, "The record holds something that is nested too deeply.")


def _failed(request: Request, _: Exception) -> Response:
    return _show(request, 500, "The server's output on the terminal says more.")


_HANDLERS: Any = {
    HTTPException: _http,
    ViewError: _unknown,
    RecordError: _damaged,
    BenchError: _damaged,
    Error: _damaged,
    RecursionError: _nested,
    Exception: _failed,
}
