"""What the model was sent and what it replied, call by call."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ludus.view.episodes.conversation import calls_of, show_call
from ludus.view.episodes.episode import open_episode
from ludus.view.pages.episode import shared
from ludus.view.rendering import page

__all__ = ["routes"]

_A_PAGE = 200
_MOST_MESSAGES = 40


def _conversation(request: Request) -> Response:
    params, query = request.path_params, request.query_params
    library = request.app.state.library
    with open_episode(library.episode(params["name"], params["unit"])) as episode:
        calls = calls_of(episode)
        rows = calls.rows
        number = min(_number(query.get("call"), 0), max(0, len(rows) - 1))
        if (step := _number(query.get("step"), -1)) >= 0:
            number = next((row.number for row in rows if row.n >= step), number)
        most = 1000 if query.get("all") else _MOST_MESSAGES
        at = number // _A_PAGE
        return page(
            request,
            "conversation.html",
            **shared(request, episode),
            rows=rows[at * _A_PAGE : (at + 1) * _A_PAGE],
            total=len(rows),
            shown=show_call(episode, calls, number, most) if rows else None,
            tokens={
                name: sum(row.tokens.get(name, 0) for row in rows)
                for name in ("prompt", "completion", "cached")
            },
            cost=sum(row.cost or 0.0 for row in rows),
        )


def _about(request: Request) -> Response:
    params = request.path_params
    library = request.app.state.library
    with open_episode(library.episode(params["name"], params["unit"])) as episode:
        kinds = episode.index.names
        counts = dict.fromkeys(kinds, 0)
        for place, kind in enumerate(kinds):
            counts[kind] = episode.index.kinds.count(place)
        return page(
            request,
            "about.html",
            **shared(request, episode),
            counts=counts,
            head=episode.head,
            record=episode.record,
            details=episode.subject.details,
        )


def _number(text: str | None, default: int) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 12
    return int(text or 0) if is_number else default


routes = [
    Route("/run/{name}/e/{unit}/conversation", _conversation),
    Route("/run/{name}/e/{unit}/about", _about),
]
