"""Two episodes side by side."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ludus.errors import ViewError
from ludus.view.episodes.comparing import align
from ludus.view.episodes.curve import score_curve
from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.opening import AnyTrajectory, open_trajectory
from ludus.view.library import ITSELF, Found, Library
from ludus.view.model.overview import overview_of, summarise
from ludus.view.rendering import link, page

__all__ = ["routes"]

_A_PAGE = 100
_MOST_CHOICES = 500
_CURVE_STEPS = 20_000


def _compare(request: Request) -> Response:
    query, library = request.query_params, request.app.state.library
    names = query.get("a", ""), query.get("b", "")
    choices = _choices(request, names)
    if not all(names):
        return page(request, "compare.html", choices=choices, names=names, sides=None)
    with ExitStack() as stack:
        sides = [stack.enter_context(open_trajectory(_found(library, name))) for name in names]
        for side in sides:
            if isinstance(side, EpisodeRecord) and side.kind != "research":
                raise ViewError("Only episodes of research can be compared.")
        found = align(*sides)
        text = query.get("page", "0")
        pages = max(1, -(-len(found.pairs) // _A_PAGE))
        at = min(pages - 1, int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0)
        shown = [
            tuple(_step(side, n) for side, n in zip(sides, pair, strict=True))
            for pair in found.pairs[at * _A_PAGE : (at + 1) * _A_PAGE]
        ]
        return page(
            request,
            "compare.html",
            choices=choices,
            names=names,
            sides=sides,
            bases=[_base(name) for name in names],
            rows=_rows(sides),
            curves=[_curve(side) for side in sides],
            found=found,
            shown=shown,
            at=at,
            pages=pages,
            size=_A_PAGE,
            query=dict(query),
        )


def _found(library: Library, name: str) -> Found:
    run, _, unit = name.partition("@")
    return library.episode(run, unit or ITSELF)


def _base(name: str) -> str:
    run, _, unit = name.partition("@")
    return link("run", run, "e", unit or ITSELF)


def _step(side: AnyTrajectory, n: int | None) -> object:
    return None if n is None else side.steps(n, n + 1)[0]


def _rows(sides: list[AnyTrajectory]) -> list[tuple[str, list[Any], bool]]:
    """Return a line per fact: label, the two values, and whether they differ."""
    facts: dict[str, list[Any]] = {
        "Task": [side.subject.task for side in sides],
        "Agent": [side.subject.agent for side in sides],
        "Model": [side.subject.model for side in sides],
        "Seed": [side.subject.seed for side in sides],
        "Outcome": [str(side.result.get("outcome", side.state)) for side in sides],
        "End": [str(side.result.get("end", "")) for side in sides],
        "Score": [side.result.get("value") for side in sides],
        "Normalised": [side.result.get("normalised") for side in sides],
        "Steps": [side.count for side in sides],
        "Cost": [side.result.get("cost") for side in sides],
        "Seconds": [side.result.get("seconds") for side in sides],
    }
    return [(name, list(pair), pair[0] != pair[1]) for name, pair in facts.items() if any(
        one not in ("", None) for one in pair
    )]  # fmt: skip


def _curve(side: AnyTrajectory) -> object:
    if side.count > _CURVE_STEPS:
        return None
    known = overview_of(side) if isinstance(side, EpisodeRecord) else summarise(side.listed)
    return score_curve(known.validations, side.subject, side.count)


def _choices(request: Request, names: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the episodes that can be chosen: those of the first one's run, else of all runs."""
    first = names[0].partition("@")[0]
    rows = [row for run in request.app.state.summaries.all() for row in run.rows if row.has_steps]
    rows.sort(key=lambda row: (row.run != first, row.run, row.task, row.agent, row.seed or 0))
    found = []
    for row in rows[:_MOST_CHOICES]:
        name = row.run if row.unit == ITSELF else f"{row.run}@{row.unit}"
        found.append((name, f"{row.run}: {row.task}, {row.agent}, seed {row.seed}"))
    return found


routes = [Route("/compare", _compare)]
