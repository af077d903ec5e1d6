"""The lists of runs and of episodes, with filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ludus.view.model.summary import EpisodeRow, RunSummary, Summaries, sorted_rows
from ludus.view.rendering import page

__all__ = ["nav", "routes"]

nav = ("Runs", "/runs")

_A_PAGE = 200
_FILTERS = ("suite", "agent", "model", "task", "outcome")
_SORTS = {
    "runs": ("date", "title", "done", "normalised", "cost"),
    "episodes": ("date", "outcome", "score", "normalised", "task", "agent", "seed", "steps", "cost",
                 "seconds"),
}  # fmt: skip


def _runs(request: Request) -> Response:
    query = request.query_params
    summaries: Summaries = request.app.state.summaries
    runs = list(summaries.all())
    choices = {name: sorted({v for run in runs for v in run.names(name)}) for name in _FILTERS}
    wanted = {name: query[name] for name in _FILTERS if query.get(name)}
    text = query.get("q", "")[:200].casefold()
    which = "episodes" if query.get("list") == "episodes" else "runs"
    pairs = [(run, [row for row in run.rows if _fits(row, wanted)]) for run in runs]
    if wanted:
        pairs = [(run, rows) for run, rows in pairs if rows]
    if text:
        pairs = [(run, rows) for run, rows in pairs if _says(run, text)]
    items: list[Any] = [run for run, _ in pairs]
    if which == "episodes":
        items = [row for _, rows in pairs for row in rows]
    by = query.get("sort", "-date")
    by = by if by.removeprefix("-") in _SORTS[which] else "-date"
    items = sorted_rows(items, by)
    if by == "-date" and which == "runs":
        items.sort(key=lambda run: not run.is_live)
    at = _page_number(query.get("page"), len(items))
    return page(
        request,
        "runs.html",
        which=which,
        items=items[at * _A_PAGE : (at + 1) * _A_PAGE],
        total=len(items),
        pages=-(-len(items) // _A_PAGE),
        at=at,
        sort=by,
        choices=choices,
        wanted=wanted,
        query=dict(query),
        live=sum(run.is_live for run in runs),
        everything=len(runs),
        is_cut=request.app.state.library.is_cut,
        files=[one for one in request.app.state.library.all() if one.kind == "file"],
    )


def _fits(row: EpisodeRow, wanted: dict[str, str]) -> bool:
    return all(getattr(row, name) == value for name, value in wanted.items())


def _says(run: RunSummary, text: str) -> bool:
    told: Sequence[str] = (run.title, run.found.place, *run.names("agent"), *run.names("task"))
    return any(text in one.casefold() for one in told)


def _page_number(text: str | None, count: int) -> int:
    most = max(0, -(-count // _A_PAGE) - 1)
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 10
    return min(most, int(text or 0)) if is_number else 0


routes = [Route("/runs", _runs)]
