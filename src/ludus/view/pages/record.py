"""Recordings of episodes: the table of episodes, and the player of one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from ludus.errors import RecordDamaged
from ludus.record.replay.replay import EPISODES
from ludus.record.run.reader import read_run
from ludus.terminal_text import printable
from ludus.view.library import ITSELF, Found
from ludus.view.model.line_picture import line_picture
from ludus.view.model.recording import Recording, Shown, thinned
from ludus.view.model.recordings import Recordings, how_to_build, record_of
from ludus.view.pages.kept import close_kept, kept
from ludus.view.rendering import link, page
from ludus.view.replaying.replayer import NotDrawnYet, Replayer, ReplayFailed

__all__ = ["lifespan", "number_in", "opened", "replayer_of", "routes", "shown_episode"]

_ROWS = 200
_MOST_FILES = 600
_SORTS = ("place", "return", "length")


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Stop the workers with the server."""
    try:
        yield
    finally:
        await run_in_threadpool(close_kept, app, "replayer")


def recordings_of(request: Request) -> Recordings:
    """Return the recordings that are open."""
    return kept(request.app, "recordings", Recordings)


def replayer_of(request: Request) -> Replayer:
    """Return what executes recordings again."""
    return kept(request.app, "replayer", Replayer)


def readable(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return an endpoint that says so where a manifest is not what a recorder writes."""

    def endpoint(request: Request) -> Response:
        try:
            return answer(request)
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as problem:
            raise RecordDamaged(f"The manifest is no proper one: {problem!r:.200}") from problem

    return endpoint


def opened(request: Request) -> tuple[Found, Recording]:
    """Return the record in the address of a page."""
    found: Found = request.app.state.library.record(request.path_params["name"])
    return found, recordings_of(request).of(found)


def shown_episode(request: Request, recording: Recording) -> Shown:
    """Return the episode in the address of a page; raises ``HTTPException`` if there is none."""
    try:
        return recording.episode(request.path_params["place"])
    except IndexError as problem:
        raise HTTPException(404) from problem


def number_in(request: Request, name: str, low: int, high: int, default: int) -> int:
    """Return a whole number of the query, within bounds."""
    text = request.query_params.get(name, "")
    if re.fullmatch(r"-?[0-9]{1,15}", text) is None:
        return default
    return max(low, min(high, int(text)))


def _record(request: Request) -> Response:
    found: Found = request.app.state.library.record(request.path_params["name"])
    manifest = read_run(found.path, within=found.within).manifest
    if manifest.get("kind") != EPISODES:
        run, _, unit = found.name.partition("@")
        return RedirectResponse(link("run", run, "e", unit or ITSELF))
    recording = recordings_of(request).of(found)
    sort = request.query_params.get("sort", "place")
    by = sort.removeprefix("-") if sort.removeprefix("-") in _SORTS else "place"
    order = recording.sorted(by, descending=sort.startswith("-"))
    last = max(0, math.ceil(len(recording) / _ROWS) - 1)
    at = number_in(request, "page", 1, last + 1, 1) - 1
    places = order[at * _ROWS : (at + 1) * _ROWS].tolist()
    returns = recording.returns()
    return page(
        request,
        "record.html",
        found=found,
        recording=recording,
        marks=recording.landmarks(),
        rows=[recording.episode(place) for place in places],
        sort=sort,
        at=at + 1,
        pages=last + 1,
        mean=float(returns.mean()) if len(returns) else None,
        spread=float(returns.std()) if len(returns) else None,
        chart=_returns_chart(recording),
        query=request.query_params,
    )


def _returns_chart(recording: Recording) -> str:
    table = recording.returns().reshape(-1, 1)
    steps, lines = thinned(table, ["return"])
    chart = {
        "title": "return",
        "x": [step - 1 for step in steps],
        "lines": lines,
        "xlabel": "episode",
    }
    return json.dumps({"charts": [chart]}, allow_nan=False)


def _player(request: Request) -> Response:
    found, recording = opened(request)
    shown = shown_episode(request, recording)
    episode = shown.episode
    last = recording.last_frame(shown)
    t = number_in(request, "t", 0, last, 0)
    record = record_of(found, recording)
    replayer = replayer_of(request)
    is_static = bool(request.scope.get("ludus.static"))
    if is_static and getattr(request.app.state, "export_frames", False):
        replayer.allow(record)
    allowed = replayer.is_allowed(record)
    series = recording.series(shown)
    call, wrappers = how_to_build(recording.subject)
    return page(
        request,
        "player.html",
        found=found,
        recording=recording,
        shown=shown,
        episode=episode,
        marks=recording.landmarks(),
        last=last,
        t=t,
        moment=shown.moment(t),
        allowed=allowed,
        limits=replayer.limits,
        reason=recording.subject.get("unreplayable"),
        stamp=recording.stamp,
        series=[
            (one.title, _summary(one.lines), line_picture(one.steps, one.lines, one.title))
            for one in series
        ],
        is_static=is_static,
        files=_files(request, found, recording, shown) if is_static and allowed else [],
        call=call,
        wrappers=wrappers,
        data=_data(found, recording, shown, last, t, allowed=allowed, series=series),
    )


def _files(request: Request, found: Found, recording: Recording, shown: Shown) -> list[str]:
    """Return the frames that are exported with an episode: of the first, and of the remarkable."""
    places = {0, *(one.place for one in recording.landmarks().values())}
    record = record_of(found, recording)
    try:
        mode = replayer_of(request).about(record)["render_mode"]
    except (NotDrawnYet, ReplayFailed):
        mode = None
    if shown.place not in places or mode is None:
        return []
    last = min(recording.last_frame(shown), _MOST_FILES)
    end = f"{shown.episode.env_index}.{'png' if mode == 'rgb_array' else 'svg'}"
    return [link("record", found.name, "frame", str(shown.moment(t)), end) for t in range(last + 1)]


def _data(found: Found, recording: Recording, shown: Shown, last: int, t: int, **more: Any) -> str:
    """Return what the script of the player needs, as JSON."""
    base = link("record", found.name)
    charts = [
        {"title": one.title, "x": one.steps, "lines": one.lines, "xlabel": "step"}
        for one in more["series"]
    ]
    seen = any(one.title == "observation" for one in more["series"])
    return json.dumps(
        {
            "first": shown.episode.first_row,
            "env": shown.episode.env_index,
            "last": last,
            "t": t,
            "allowed": more["allowed"],
            "frame": f"{base}/frame/",
            "state": f"{base}/state/",
            "about": f"{base}/about",
            "observations": "" if seen else f"{base}/ep/{shown.place}/observations",
            "stamp": recording.stamp,
            "charts": charts,
        },
        allow_nan=False,
    )


def _summary(lines: Any) -> str:
    """Return a chart in words: the range of each line."""
    told = []
    for name, values in list(lines.items())[:4]:
        known = [value for value in values if value is not None]
        if known:
            told.append(f"{name} from {min(known):.4g} to {max(known):.4g}")
    rest = len(lines) - 4
    return "; ".join(told) + (f"; {rest} more" if rest > 0 else "")


def _numbers(request: Request) -> Response:
    """Return the series of an episode as CSV."""
    _, recording = opened(request)
    shown = shown_episode(request, recording)
    series = recording.series(shown)
    names = [name for one in series for name in one.lines]
    columns = [values for one in series for values in one.lines.values()]
    lines = [",".join(["step", *map(_cell, names)])]
    for index, step in enumerate(series[0].steps):
        cells = ("" if column[index] is None else repr(column[index]) for column in columns)
        lines.append(",".join([str(step), *cells]))
    name = f"episode-{shown.place}.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse("\n".join(lines) + "\n", headers=headers, media_type="text/csv")


def _cell(name: str) -> str:
    """Return a name as a cell that spreadsheets take for a text."""
    text = printable(name).replace('"', '""')
    return f'"{text}"' if text[:1].isalpha() else f'"_{text}"'


routes = [
    Route("/record/{name}", readable(_record)),
    Route("/record/{name}/ep/{place:int}", readable(_player)),
    Route("/record/{name}/ep/{place:int}/numbers.csv", readable(_numbers)),
]
