"""Frames, states and observations of a recording, which is executed again for them.

A recording is executed only after somebody has asked for it on its page: the form posts to
``/record/NAME/replay``, and the guard refuses posts of other sites.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ludus.record.replay.replay import EPISODES
from ludus.record.run.reader import read_run
from ludus.view.library import Found
from ludus.view.model.recording import thinned
from ludus.view.model.recordings import record_of
from ludus.view.pages.kept import few_at_once
from ludus.view.pages.record import number_in, opened, replayer_of, shown_episode
from ludus.view.playing.text_picture import text_picture
from ludus.view.rendering import link, render
from ludus.view.replaying.replayer import AHEAD, NotDrawnYet, Record, ReplayFailed

__all__ = ["routes"]

_MOST_OBSERVED = 20_000
_LATEST = 2**53
_EXPORT_SECONDS = 300.0
_MOST_WAITING = 12


async def _allow(request: Request) -> Response:
    """Let a recording be executed, and go back to the episode."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"))
    found: Found = request.app.state.library.record(request.path_params["name"])
    reader = await run_in_threadpool(read_run, found.path, within=found.within)
    if reader.manifest.get("kind") != EPISODES:
        raise HTTPException(404)
    replayer_of(request).allow(Record(found.path, "", found.within, reader.manifest_hash))
    numbers = {}
    for name in ("place", "t"):
        text = form.get(name, ["0"])[0]
        numbers[name] = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
    target = link("record", found.name, "ep", str(numbers["place"]), t=str(numbers["t"]))
    return RedirectResponse(target, 303)


def _answered(answer: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Turn what a replay raises into answers that the script of the player understands."""

    def endpoint(request: Request) -> Response:
        try:
            return answer(request)
        except NotDrawnYet as problem:
            return JSONResponse({"reached": problem.row}, 202)
        except ReplayFailed as problem:
            return JSONResponse({"error": str(problem)}, 422)
        except IndexError:
            return JSONResponse({"error": "The recording has no such step."}, 404)

    return few_at_once("replays", _MOST_WAITING, endpoint)


def _about(request: Request) -> Response:
    found, recording = opened(request)
    about = replayer_of(request).about(record_of(found, recording))
    return JSONResponse({key: about.get(key) for key in ("render_mode", "fps", "rows")})


def _frame(request: Request) -> Response:
    found, recording = opened(request)
    moment = request.path_params["moment"]
    if not 0 <= moment <= 2 * recording.rows:
        raise IndexError(moment)
    env = number_in(request, "env", 0, 2**24, 0)
    last = number_in(request, "last", moment, _LATEST, moment)
    last = min(last, 2 * recording.rows)
    frame = replayer_of(request).frame(record_of(found, recording), moment, env, last)
    headers = {"cache-control": "private, max-age=3600"}
    if request.query_params.get("v") != recording.stamp:
        headers = {}
    if frame.difference is not None:
        headers["x-replay-difference"] = str(frame.difference)
    if frame.kind == "png":
        return Response(frame.content, media_type="image/png", headers=headers)
    text = frame.content.decode("utf-8", "replace")
    return HTMLResponse(render("text_frame.html", text=text), headers=headers)


def _frame_file(request: Request) -> Response:
    """Return a frame for a page that is exported: an image, whatever time it takes."""
    if not request.scope.get("ludus.static"):
        raise HTTPException(404)
    found, recording = opened(request)
    moment, env = request.path_params["moment"], request.path_params["env"]
    if not 0 <= moment <= 2 * recording.rows:
        raise IndexError(moment)
    record, deadline = record_of(found, recording), time.monotonic() + _EXPORT_SECONDS
    while True:
        try:
            last = min(moment + 2 * AHEAD, 2 * recording.rows)
            frame = replayer_of(request).frame(record, moment, env, last)
        except NotDrawnYet:
            if time.monotonic() > deadline:
                raise
            continue
        if frame.kind == "png":
            return Response(frame.content, media_type="image/png")
        text = frame.content.decode("utf-8", "replace")
        return Response(text_picture(text), media_type="image/svg+xml")


def _state(request: Request) -> Response:
    found, recording = opened(request)
    moment = request.path_params["moment"]
    if not 0 <= moment <= 2 * recording.rows:
        raise IndexError(moment)
    content = replayer_of(request).state(record_of(found, recording), moment)
    headers = {"content-disposition": f'attachment; filename="moment-{moment}.state"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _observations(request: Request) -> Response:
    """Return the chart of the observations, computed by executing the episode again."""
    found, recording = opened(request)
    shown = shown_episode(request, recording)
    length = min(recording.last_frame(shown), _MOST_OBSERVED)
    moments = [shown.moment(t) for t in range(1, length + 1)]
    env = shown.episode.env_index
    table = replayer_of(request).observations(record_of(found, recording), moments, env)
    steps, lines = thinned(table, [f"observation[{i}]" for i in range(table.shape[1])])
    chart: dict[str, Any] = {"title": "observation", "x": steps, "lines": lines, "xlabel": "step"}
    content = json.dumps(chart if lines else {"title": ""}, allow_nan=False)
    return Response(content, media_type="application/json")


routes = [
    Route("/record/{name}/replay", _allow, methods=["POST"]),
    Route("/record/{name}/about", _answered(_about)),
    Route("/record/{name}/frame/{moment:int}", _answered(_frame)),
    Route("/record/{name}/frame/{moment:int}/{env:int}.{kind}", _answered(_frame_file)),
    Route("/record/{name}/state/{moment:int}", _answered(_state)),
    Route("/record/{name}/ep/{place:int}/observations", _answered(_observations)),
]
