"""The list of runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ludus.view.rendering import page

__all__ = ["nav", "routes"]

nav = ("Runs", "/runs")


def _runs(request: Request) -> Response:
    return page(request, "runs.html", found=request.app.state.library.all())


routes = [Route("/runs", _runs)]
