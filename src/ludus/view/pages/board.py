"""Leaderboards and reports of suites, and the verification of runs and records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ludus.errors import BenchError, ComparisonRefused
from ludus.view.library import Found, Library
from ludus.view.model.boards import BoardRun, Boards
from ludus.view.pages.kept import close_kept, kept
from ludus.view.rendering import link, page, render
from ludus.view.replaying.verifications import Busy, Verifications

__all__ = ["lifespan", "nav", "routes"]

nav = ("Leaderboards", "/board")
_MOST_NAMES = 50


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Stop the verification that runs with the server."""
    try:
        yield
    finally:
        close_kept(app, "verifications")


def _boards_of(request: Request) -> Boards:
    state = request.app.state
    return kept(request.app, "boards", lambda: Boards(state.library, state.settings.store))


def _verifications_of(request: Request) -> Verifications:
    return kept(request.app, "verifications", Verifications)


def _boards(request: Request) -> Response:
    suites, problems = _boards_of(request).suites()
    return page(request, "boards.html", suites=suites, problems=problems)


def _board(request: Request) -> Response:
    boards = _boards_of(request)
    suites, problems = boards.suites()
    name = request.path_params["suite"]
    row = next((one for one in suites if one.name == name), None)
    verified_only = request.query_params.get("verified") == "1"
    ranked = boards.leaderboards(name, row.runs if row else (), verified_only=verified_only)
    if row is None and not ranked:
        raise HTTPException(404)
    runs = row.runs if row else ()
    chosen = _chosen(request, runs)
    report, refused = None, ""
    if chosen:
        try:
            report = boards.report(chosen)
        except (ComparisonRefused, BenchError, ValueError) as problem:
            refused = str(problem)
    return page(
        request,
        "board.html",
        suite=name,
        title=row.title if row else name,
        boards=ranked,
        runs=runs,
        chosen={run.found.name for run in chosen},
        report=report,
        refused=refused,
        problems=problems,
        verified_only=verified_only,
        query=request.query_params,
        from_store=request.app.state.settings.store is not None,
    )


def _chosen(request: Request, runs: tuple[BoardRun, ...]) -> list[BoardRun]:
    """Return the runs that the query names, or all of them."""
    names = set(request.query_params.getlist("run")[:_MOST_NAMES])
    return [run for run in runs if not names or run.found.name in names]


def _found(request: Request) -> Found:
    """Return the run or record in the address of a page."""
    name = request.path_params["name"]
    library: Library = request.app.state.library
    found = library.record(name) if "@" in name else library.find(name)
    if found.kind == "file":
        raise HTTPException(404)
    return found


def _verification(request: Request) -> Response:
    found = _found(request)
    job = _verifications_of(request).job(found.name)
    values: dict[str, Any] = {"found": found, "job": job, "address": link("verify", found.name)}
    if "hx-request" in request.headers:
        return HTMLResponse(render("verify_job.html", **values))
    return page(request, "verify.html", **values)


def _verify(request: Request) -> Response:
    """Start a verification; the guard refuses posts of other sites."""
    found = _found(request)
    command = ["bench", "verify"] if found.kind == "run" else ["verify"]
    try:
        _verifications_of(request).start(found.name, [*command, "--", str(found.path)])
    except Busy as problem:
        job = _verifications_of(request).job(found.name)
        return page(
            request,
            "verify.html",
            status=409,
            busy=str(problem),
            found=found,
            job=job,
            address=link("verify", found.name),
        )
    return RedirectResponse(link("verify", found.name), 303)


routes = [
    Route("/board", _boards),
    Route("/board/{suite:path}", _board),
    Route("/verify/{name}", _verification),
    Route("/verify/{name}", _verify, methods=["POST"]),
]
