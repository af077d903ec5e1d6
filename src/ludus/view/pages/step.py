"""One step: everything that is known of it, its changes of the workspace, its whole output."""

from __future__ import annotations

import json
from contextlib import nullcontext

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ludus.errors import ViewError
from ludus.view.episodes.changes import changes_of_step
from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.files import open_named
from ludus.view.episodes.opening import AnyTrajectory, open_trajectory
from ludus.view.episodes.output import window
from ludus.view.episodes.trajectory import Step
from ludus.view.pages.episode import shared
from ludus.view.rendering import link, page

__all__ = ["routes"]

_LONGEST_RAW = 200_000


def _step(request: Request) -> Response:
    name, unit = request.path_params["name"], request.path_params["unit"]
    with open_trajectory(request.app.state.library.episode(name, unit)) as episode:
        step = _found(request, episode)
        if isinstance(step, Response):
            return step
        record = episode if isinstance(episode, EpisodeRecord) else None
        after = episode.steps(step.n + 1, step.n + 2)
        before = episode.steps(step.n - 1, step.n) if step.n else []
        opened, problem = None, ""
        if record is not None and step.output_file:
            try:
                opened = open_named(record, step.output_file)[1]
            except ViewError as wrong:
                problem = str(wrong)
        with opened or nullcontext() as handle:
            whole = None if handle is None else window(handle, _line(request))
        return page(
            request,
            "step.html",
            **shared(request, episode),
            step=step,
            after=after[0] if after else None,
            before=before[0] if before else None,
            whole=whole,
            problem=problem,
            changes=[] if record is None else changes_of_step(record, step),
            raw="" if record is None else _raw(record, step),
        )


def _found(request: Request, episode: AnyTrajectory) -> Step | Response:
    """Return the step of the address; a number alone is completed with its hash."""
    number, dash, mark = request.path_params["step"].partition("-")
    n = int(number) if number.isascii() and number.isdigit() and len(number) < 12 else episode.count
    found = episode.steps(n, n + 1)
    if not found:
        raise ViewError("The episode has no such step.")
    if dash and not found[0].hash.startswith(mark):
        raise ViewError(
            "This step was cut off when the episode was resumed; another one has its number now."
        )
    if found[0].hash and not dash:
        base = request.path_params["name"], "e", request.path_params["unit"]
        return RedirectResponse(link("run", *base, "s", found[0].key))
    return found[0]


def _line(request: Request) -> int:
    text = request.query_params.get("line", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def _raw(episode: EpisodeRecord, step: Step) -> str:
    """Return the data of a step's event without what the page shows anyway."""
    event = episode.index.event(episode.handle, episode.index.steps[step.n])
    hidden = ("action", "changes", "head", "output", "tail", "thought")
    data = {name: value for name, value in event.data.items() if name not in hidden}
    text = json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    return text[:_LONGEST_RAW]


routes = [Route("/run/{name}/e/{unit}/s/{step}", _step)]
