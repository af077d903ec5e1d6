"""One episode: verdict, curve of validations, and its steps."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ludus.errors import ViewError
from ludus.view.episodes.curve import score_curve
from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.opening import AnyTrajectory, open_trajectory
from ludus.view.episodes.trajectory import Step
from ludus.view.model.overview import (
    FILTERS,
    Overview,
    Selection,
    overview_of,
    search,
    summarise,
)
from ludus.view.rendering import link, page

__all__ = ["A_PAGE", "routes", "shared"]

A_PAGE = 200
_AT_ONCE = 3000
_LONGEST_QUERY = 200


def _episode(request: Request) -> Response:
    name, unit = request.path_params["name"], request.path_params["unit"]
    record = request.app.state.library.episode(name, unit)
    with open_trajectory(record) as episode:
        if isinstance(episode, EpisodeRecord) and episode.kind != "research":
            return RedirectResponse(link("record", record.name))
        query = request.query_params
        step = _number(query.get("step"))
        if step is not None and not query.get("filter") and not query.get("q"):
            step = min(step, max(0, episode.count - 1))
            target = link("run", name, "e", unit, page=step // A_PAGE or None)
            return RedirectResponse(f"{target}#step-{step}")
        chosen = _chosen(episode, query.get("filter", ""), query.get("q", "")[:_LONGEST_QUERY])
        total = episode.count if chosen is None else len(chosen.numbers)
        pages = max(1, -(-total // A_PAGE))
        # Who watches wants to see the end.
        first = pages - 1 if episode.state == "running" and chosen is None else 0
        at = min(pages - 1, first if (told := _number(query.get("page"))) is None else told)
        steps = _steps(episode, chosen, at)
        is_end = chosen is None and at == pages - 1
        overview = _overview(request, episode)
        return page(
            request,
            "episode.html",
            **shared(request, episode),
            steps=steps,
            pending=episode.pending() if is_end else None,
            chosen=chosen,
            total=total,
            pages=pages,
            at=at,
            filter=query.get("filter", ""),
            filters=FILTERS,
            counts=None if overview is None else overview.counts(),
            curve=None if overview is None else _curve(episode, overview),
            first_failed=_first(overview),
            query=dict(query),
            is_live=episode.state == "running" and is_end,
            previous_lives=_earlier(request, name, unit),
        )


def shared(request: Request, episode: AnyTrajectory) -> dict[str, Any]:
    """Return what all pages about an episode show: names, subject, state and result."""
    name, unit = request.path_params["name"], request.path_params["unit"]
    return {
        "name": name,
        "unit": unit,
        "base": link("run", name, "e", unit),
        "run": request.app.state.library.find(name),
        "episode": episode,
        "subject": episode.subject,
        "result": episode.result,
        "state": episode.state,
        "has_record": isinstance(episode, EpisodeRecord),
    }


def _steps(episode: AnyTrajectory, chosen: Selection | None, at: int) -> list[Step]:
    start, end = at * A_PAGE, (at + 1) * A_PAGE
    if chosen is None:
        return episode.steps(start, end)
    return [step for n in chosen.numbers[start:end] for step in episode.steps(n, n + 1)]


def _chosen(episode: AnyTrajectory, kind: str, text: str) -> Selection | None:
    """Return the steps that a filter and a search choose; ``None`` if neither is given."""
    found: Selection | None = None
    if text:
        found = (
            search(episode, text)
            if isinstance(episode, EpisodeRecord)
            else _listed(episode.steps(0, episode.count), text)
        )
    if kind in FILTERS:
        overview = _whole(episode)
        fitting = overview.chosen(FILTERS[kind][1])
        if found is None:
            return Selection(fitting, episode.count, episode.count)
        both = set(fitting)
        found = Selection([n for n in found.numbers if n in both], found.searched, found.total)
    return found


def _listed(steps: list[Step], text: str) -> Selection:
    wanted = text.casefold()
    numbers = [
        one.n for one in steps if wanted in f"{one.thought}\n{one.action}\n{one.output}".casefold()
    ]
    return Selection(numbers, len(steps), len(steps))


def _overview(request: Request, episode: AnyTrajectory) -> Overview | None:
    """Return the overview; ``None`` if it takes too long for the first sight of the page."""
    is_static = request.scope.get("ludus.static", False)
    return _whole(episode) if episode.count <= _AT_ONCE or is_static else None


def _whole(episode: AnyTrajectory) -> Overview:
    if isinstance(episode, EpisodeRecord):
        return overview_of(episode)
    return summarise(episode.listed)


def _curve(episode: AnyTrajectory, overview: Overview) -> Any:
    return score_curve(overview.validations, episode.subject, episode.count)


def _first(overview: Overview | None) -> int | None:
    failed = [] if overview is None else overview.chosen(FILTERS["failed"][1])
    return failed[0] if failed else None


def _overview_part(request: Request) -> Response:
    """Return the curve and the counts of the filters, which a long episode's page asks for."""
    name, unit = request.path_params["name"], request.path_params["unit"]
    with open_trajectory(request.app.state.library.episode(name, unit)) as episode:
        overview = _whole(episode)
        return page(
            request,
            "overview.html",
            **shared(request, episode),
            counts=overview.counts(),
            curve=_curve(episode, overview),
            first_failed=_first(overview),
            filters=FILTERS,
            filter=request.query_params.get("filter", ""),
            query={},
        )


def _earlier(request: Request, name: str, unit: str) -> list[str]:
    """Return the abandoned records of the same unit."""
    found: list[str] = []
    while len(found) < 20 and "-" not in unit:
        try:
            request.app.state.library.episode(name, f"{unit}-{len(found) + 1}")
        except ViewError:
            break
        found.append(f"{unit}-{len(found) + 1}")
    return found


def _number(text: str | None) -> int | None:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 12
    return int(text or 0) if is_number else None


routes = [
    Route("/run/{name}/e/{unit}", _episode),
    Route("/run/{name}/e/{unit}/overview", _overview_part),
]
