"""One run: its scores with intervals, its units, where it comes from."""

from __future__ import annotations

from functools import lru_cache

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ludus.view.library import ITSELF
from ludus.view.model.scores import Scores, scores_of
from ludus.view.model.summary import RunSummary
from ludus.view.rendering import link, page

__all__ = ["routes"]

_MOST_CELLS = 400


def _run(request: Request) -> Response:
    found = request.app.state.library.find(request.path_params["name"])
    if found.kind == "file":
        return RedirectResponse(link("run", found.name, "e", ITSELF))
    run: RunSummary = request.app.state.summaries.of(found)
    if run.kind == "episode":
        return RedirectResponse(link("run", found.name, "e", ITSELF))
    if run.kind == "record":
        return RedirectResponse(link("record", found.name))
    scores, problem = None, run.problem
    if not problem:
        try:
            scores = _scores(_Key(run))
        except ValueError as wrong:
            problem = str(wrong)
    return page(
        request,
        "run.html",
        run=run,
        scores=scores,
        problem=problem,
        most_cells=_MOST_CELLS,
        verified=[sum(one.verified == kind for one in run.results) for kind in _KINDS],
        seconds=sum(row.seconds or 0.0 for row in run.rows),
    )


_KINDS = ("verified", "claimed", "failed")


class _Key:
    """A summary as the key of a cache: it is replaced by another object when files change."""

    def __init__(self, run: RunSummary) -> None:
        self.run = run

    def __hash__(self) -> int:
        return hash(self.run.found.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.run is self.run


@lru_cache(maxsize=64)
def _scores(key: _Key) -> Scores:
    return scores_of(key.run)


routes = [Route("/run/{name}", _run)]
