"""Playing an environment in the browser: the page, and the WebSocket of the frames.

Messages of the browser are small JSON objects; every answer is one JSON object and, if it says so,
one binary message with the frame.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ludus.errors import ViewError
from ludus.view.model.gallery import find_env, is_drawn
from ludus.view.pages.envs import gallery_of, spec_in
from ludus.view.pages.kept import kept
from ludus.view.playing.session import Session
from ludus.view.rendering import page, render
from ludus.view.replaying.messages import WorkerFailed

__all__ = ["routes"]

_MOST_SESSIONS = 4
_TOLD = (
    *("action", "error", "facts", "kind", "legal"),
    *("reward", "steps", "terminated", "total", "truncated"),
)
"""What the browser gets of an answer; the process, which runs other people's code, chooses it."""
_UNKNOWN, _FULL, _FAILED = 4404, 4429, 4500


def _play(request: Request) -> Response:
    spec = spec_in(request)
    gallery = gallery_of(request.app)
    if not is_drawn(spec):
        raise ViewError(f"{spec.id} is a task for research agents and cannot be played with keys.")
    return page(request, "play.html", spec=spec, allowed=gallery.is_allowed(spec))


async def _socket(socket: WebSocket) -> None:
    """Serve one player; the guard has checked where the page came from."""
    app = socket.app
    gallery = gallery_of(app)
    sessions: set[Session] = kept(app, "sessions", set)
    try:
        spec = await run_in_threadpool(find_env, socket.path_params["env_id"])
    except ViewError:
        await socket.close(_UNKNOWN)
        return
    await socket.accept()
    if not gallery.is_allowed(spec) or not is_drawn(spec):
        await socket.close(_UNKNOWN, "It was not asked for.")
        return
    if len(sessions) >= _MOST_SESSIONS:
        await socket.close(_FULL, f"{_MOST_SESSIONS} environments are being played already.")
        return

    async def tell(data: Mapping[str, Any], frame: bytes | None) -> None:
        told = {name: data[name] for name in _TOLD if name in data}
        if told.get("kind") == "text" and frame is not None:
            text = frame.decode("utf-8", "replace")
            told["html"] = render("text_frame.html", text=text)
            frame = None
        told["binary"] = frame is not None
        await socket.send_text(json.dumps(told, allow_nan=False))
        if frame is not None:
            await socket.send_bytes(frame)

    session = Session(spec, tell)
    sessions.add(session)
    tasks = {asyncio.create_task(_hear(socket, session)), asyncio.create_task(session.run())}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await _end(socket, done)
    finally:
        sessions.discard(session)
        # Before the tasks are cancelled: a thread that waits for the process returns by this.
        await run_in_threadpool(session.close)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hear(socket: WebSocket, session: Session) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if isinstance(text := message.get("text"), str):  # bytes make no sense
            session.hear(text)


async def _end(socket: WebSocket, done: set[asyncio.Task[None]]) -> None:
    """Say why a session ended, unless the browser is gone."""
    reason = "The session is over."
    for task in done:
        problem = task.exception()
        if isinstance(problem, WorkerFailed):
            reason = str(problem)
        elif problem is not None and not isinstance(problem, WebSocketDisconnect):
            raise problem
    try:
        await socket.send_text(json.dumps({"ended": reason, "binary": False}))
        await socket.close(_FAILED)
    except (WebSocketDisconnect, RuntimeError):
        return  # the browser has closed it


routes = [
    Route("/envs/{env_id:path}/play", _play),
    WebSocketRoute("/envs/{env_id:path}/play/socket", _socket),
]
