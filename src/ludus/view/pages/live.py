"""Streams of server-sent events: new steps of an episode, and changes of the list of runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ludus.errors import Error
from ludus.view.episodes.episode import EpisodeRecord, open_episode
from ludus.view.episodes.live import Look, Watched, Watchers
from ludus.view.library import Found
from ludus.view.model.summary import Summaries
from ludus.view.rendering import link, render

__all__ = ["routes"]

_MOST_STREAMS = 500
_KEEP_ALIVE = 10.0
_AT_ONCE = 200
_CHANGED = "event: changed\ndata: .\n\n"
_RELOAD = "event: reload\ndata: .\n\n"
_FAILED = "event: failed\ndata: .\n\n"
_OVER = "event: over\ndata: .\n\n"


async def _episode(request: Request) -> Response:
    params = request.path_params
    library = request.app.state.library
    record = await run_in_threadpool(library.episode, params["name"], params["unit"])
    base = link("run", params["name"], "e", params["unit"])
    text = request.headers.get("last-event-id") or request.query_params.get("after", "0")
    after = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
    count = await run_in_threadpool(_count, record)
    if after > count:
        return _stream(_once(_RELOAD))
    watchers = _watchers(request)

    def make() -> Watched:
        return Watched(_Looker(record, base), max(after, count - _AT_ONCE))

    return _stream(_steps(watchers, record.name, make, after))


async def _steps(
    watchers: Watchers[str], key: str, make: Callable[[], Watched], after: int
) -> AsyncIterator[str]:
    async with watchers.watching(key, make) as watched:
        version = -1
        while True:
            if not await watched.changed(version, _KEEP_ALIVE):
                yield ": still here\n\n"
                continue
            if version == -1 and not watched.version:
                version = 0
                continue
            version = watched.version
            if watched.has_failed:
                yield _FAILED
                return
            steps = None if watched.is_other else watched.since(after)
            if steps is None:
                yield _RELOAD
                return
            # The page may have been made after the last look, with a step that it has not seen.
            after = max(after, watched.next)
            yield _message(steps, watched, after)
            if watched.is_over:
                yield _OVER
                return


def _message(steps: list[str], watched: Watched, number: int) -> str:
    """Return an event whose data are the parts of the page that change."""
    added = "".join(steps)
    html = watched.now
    if added:
        html = f'<hx-partial hx-target="#steps" hx-swap="beforeend">{added}</hx-partial>{html}'
    data = "\n".join(f"data: {line}" for line in html.split("\n"))
    return f"id: {number}\n{data}\n\n"


class _Looker:
    """Looks at a record, and renders what is new in it."""

    def __init__(self, record: Found, base: str) -> None:
        self._record, self._base = record, base
        self._before: Any = None

    def __call__(self, number: int) -> Look | None:
        """Return what has changed, ``None`` if nothing has."""
        try:
            with open_episode(self._record) as episode:
                return self._seen(episode, number)
        except (Error, OSError):
            # Its folder is gone, or was put aside because the episode began anew.
            return Look(number, is_other=True)

    def _seen(self, episode: EpisodeRecord, number: int) -> Look | None:
        pending = episode.pending()
        mark = (len(episode.index), episode.state, pending)
        if mark == self._before:
            return None
        self._before = mark
        if episode.count < number:
            return Look(number, is_other=True)
        steps = episode.steps(number, number + _AT_ONCE)
        if len(steps) == _AT_ONCE:
            self._before = None  # there is more
        return Look(
            number,
            [render("live_step.html", step=one, base=self._base) for one in steps],
            render(
                "live_now.html",
                episode=episode,
                subject=episode.subject,
                state=episode.state,
                result=episode.result,
                steps=steps or episode.steps(number - 1, number),
                pending=pending,
                base=self._base,
            ),
            is_over=episode.state != "running",
        )


def _count(record: Found) -> int:
    with open_episode(record) as episode:
        return episode.count


async def _runs(request: Request) -> Response:
    """Tell whenever the list of runs has changed."""
    summaries: Summaries = request.app.state.summaries

    def make() -> Watched:
        before: list[Any] = []

        def look(_: int) -> Look | None:
            now = [summaries.stamps()]
            if now == before:
                return None
            is_first = not before
            before[:] = now
            return None if is_first else Look(0)

        return Watched(look, 0)

    async def events() -> AsyncIterator[str]:
        async with _watchers(request).watching("/runs", make) as watched:
            version = watched.version
            yield ": hello\n\n"
            while True:
                if await watched.changed(version, _KEEP_ALIVE):
                    version = watched.version
                    yield _CHANGED
                else:
                    yield ": still here\n\n"

    return _stream(events())


def _watchers(request: Request) -> Watchers[str]:
    state = request.app.state
    if not hasattr(state, "watchers"):
        state.watchers = Watchers()
    watchers: Watchers[str] = state.watchers
    if watchers.count >= _MOST_STREAMS:
        raise HTTPException(503, "Too many pages are watching.")
    return watchers


async def _once(text: str) -> AsyncIterator[str]:
    yield text


def _stream(events: AsyncIterator[str]) -> Response:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


routes = [
    Route("/live", _runs),
    Route("/run/{name}/e/{unit}/live", _episode),
]
