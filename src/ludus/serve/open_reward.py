"""The Open Reward Standard: a trainer opens a session for a task and plays it by tool calls.

A task is a seed. Calls tell reward and end, because the client is the trainer. A client that lost
its connection during a call asks again with the call's id; nothing is done twice.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ludus.errors import Error, InvalidAction, ResetNeeded, SessionGone
from ludus.serve.bridge import answer, read_object, result_stream
from ludus.serve.episodes import Episode, Episodes
from ludus.serve.errors import told
from ludus.serve.openenv.tasks import Tasks
from ludus.serve.served import Served
from ludus.serve.service import Service
from ludus.serve.tool_calls import instructions, tools_of, view_of
from ludus.version import __version__

__all__ = ["routes"]

_MOST_ISSUED = 10_000
_MOST_KEPT = 4
"""Results of calls that are kept for clients that ask again."""
_START_SECONDS = 25.0
_STARTING = {"x-backend-state": "starting", "retry-after": "2"}
_TASKS = {
    "tasks": Tasks.all, "num_tasks": Tasks.count, "task": Tasks.one, "task_range": Tasks.part,
}  # fmt: skip


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes for all that a service offers; the first is the default."""
    made = _Routes(service)
    table: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        *(("GET", path, made.about) for path in ("/version", "/list_environments")),
        ("POST", "/create_session", made.create_session),
        ("POST", "/create", made.create),
        ("POST", "/ping", made.ping),
        *(("POST", path, made.delete) for path in ("/delete", "/delete_session")),
    ]
    for prefix in ("", "/{env:path}"):
        table += [
            ("GET", f"{prefix}/tools", made.tools),
            ("GET", f"{prefix}/task_tools", made.tools),
            ("GET", f"{prefix}/splits", made.splits),
            ("GET", f"{prefix}/prompt", made.prompt),
            ("GET", f"{prefix}/messages", made.prompt),
            ("POST", f"{prefix}/call", made.call),
            *(("POST", f"{prefix}/{name}", made.tasks) for name in _TASKS),
        ]
    return [Route(path, handler, methods=[method]) for method, path, handler in table]


@dataclass(slots=True)
class _Place:
    """A session: its episode, which may still be beginning, and its last calls."""

    served: Served
    begun: asyncio.Task[Episode]
    calls: OrderedDict[str, asyncio.Task[dict[str, Any]]] = field(default_factory=OrderedDict)


class _Routes:
    def __init__(self, service: Service) -> None:
        self._owner, self._served_by = service.owner, service.sessions.served
        self._names = {name.lower(): name for name in self._served_by}
        self._episodes = Episodes(service.sessions)
        self._issued: OrderedDict[str, _Place | None] = OrderedDict()

    async def about(self, request: Request) -> Response:
        is_version = request.url.path == "/version"
        return answer({"version": __version__} if is_version else list(self._names.values()))

    async def tools(self, request: Request) -> Response:
        found = [
            {"name": tool.name, "description": tool.about, "input_schema": tool.parameters}
            for tool in tools_of(self._served(request.path_params.get("env")))
        ]
        return answer({"tools": found, "terminal_tool": None, "supports_score_group": False})

    async def splits(self, request: Request) -> Response:
        return answer(Tasks(self._served(request.path_params.get("env")).name).splits())

    async def tasks(self, request: Request) -> Response:
        name = self._served(request.path_params.get("env")).name
        make = _TASKS[request.url.path.rpartition("/")[2]]
        try:
            return answer({"env_name": name, **make(Tasks(name), await read_object(request))})
        except IndexError:
            raise HTTPException(400, "Invalid index") from None

    async def create_session(self, request: Request) -> Response:
        if len(self._issued) >= _MOST_ISSUED:
            # Of sessions with an environment there are never so many.
            del self._issued[next(one for one, at in self._issued.items() if _is_unused(at))]
        session_id = secrets.token_hex(16)
        self._issued[session_id] = None
        return result_stream(session_id, None)

    async def create(self, request: Request) -> Response:
        session_id, data = _session_id(request), await read_object(request)
        if session_id not in self._issued:
            raise HTTPException(404, "There is no such session; ask /create_session for one.")
        if self._issued[session_id] is not None:
            raise HTTPException(400, "The session has an environment already.")
        if data.get("toolset_name") is not None:
            raise HTTPException(400, "There are no toolsets here.")
        served = self._served(data.get("env_name"))
        seed, owner = _seed(Tasks(served.name), data), self._owner(request.scope)
        begun = asyncio.create_task(self._episodes.begin(served.name, seed=seed, owner=owner))
        begun.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._issued[session_id] = _Place(served, begun)
        return answer({"sid": session_id})

    async def delete(self, request: Request) -> Response:
        session_id = _session_id(request)
        place = self._issued.pop(session_id, None)
        if place is not None and not place.begun.cancel() and not place.begun.exception():
            await self._episodes.close(place.begun.result().handle)
        return answer({"sid": session_id})

    async def ping(self, request: Request) -> Response:
        if (place := self._place(request)).begun.done():
            (await self._episode(place)).session.used_at = time.monotonic()
        return answer({"status": "ok"})

    async def prompt(self, request: Request) -> Response:
        place = self._place(request)
        observation = (await self._episode(place)).current().observation
        text = {"type": "text", "text": instructions(place.served, observation)}
        blocks = [text, *_blocks(place.served, observation)]
        as_messages = request.url.path.endswith("/messages")
        return answer([{"role": "user", "blocks": blocks}] if as_messages else blocks)

    async def call(self, request: Request) -> Response:
        data = await read_object(request)
        place, call_id = self._place(request), data.get("task_id")
        episode = await self._episode(place)
        if call_id is None:
            call_id = secrets.token_hex(16)
            place.calls[call_id] = asyncio.create_task(_called(episode, data))
            while len(place.calls) > _MOST_KEPT:
                place.calls.popitem(last=False)
        elif not isinstance(call_id, str) or call_id not in place.calls:
            raise HTTPException(404, "There is no such call, or its result is no longer kept.")
        return result_stream(call_id, place.calls[call_id])

    def _served(self, name: object) -> Served:
        if name is None:
            return next(iter(self._served_by.values()))
        if not isinstance(name, str) or name.lower() not in self._names:
            raise HTTPException(404, f"unknown environment {name!r:.100}")
        return self._served_by[self._names[name.lower()]]

    def _place(self, request: Request) -> _Place:
        place = self._issued.get(_session_id(request))
        if place is None:
            raise HTTPException(404, "There is no such session, or it has no environment.")
        return place

    async def _episode(self, place: _Place) -> Episode:
        try:
            begun = await asyncio.wait_for(asyncio.shield(place.begun), _START_SECONDS)
            return self._episodes.find(begun.handle)
        except TimeoutError:
            raise HTTPException(503, "The environment is starting.", _STARTING) from None
        except SessionGone as problem:
            raise HTTPException(410, str(problem)) from None
        except Error as problem:
            raise HTTPException((heard := told(problem)).status, heard.message) from None


async def _called(episode: Episode, data: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call of a tool, or why it was not carried out."""
    name, given, served = data.get("name"), data.get("input"), episode.session.served
    if not isinstance(name, str) or not isinstance(given, dict):
        return _refused("'name' is a text and 'input' an object.", "input_validation")
    try:
        result = await episode.act(name, given)
    except InvalidAction as problem:
        is_known = name in [tool.name for tool in tools_of(served)]
        return _refused(str(problem), "input_validation" if is_known else "not_found")
    except ResetNeeded as problem:
        return _refused(str(problem), "episode_finished")
    flags = {"terminated": bool(result.terminated), "truncated": bool(result.truncated)}
    return {
        "ok": True,
        "output": {
            "blocks": _blocks(served, result.observation),
            "metadata": flags,
            "reward": float(result.reward),
            "finished": any(flags.values()),
        },
    }


def _refused(error: str, reason: str) -> dict[str, Any]:
    return {"ok": False, "error": error, "reason": reason}


def _blocks(served: Served, observation: Any) -> list[dict[str, Any]]:
    view = view_of(served, observation)
    pictures = [b64encode(png).decode() for png in view.pictures]
    images = [{"type": "image", "data": data, "mimeType": "image/png"} for data in pictures]
    return [{"type": "text", "text": view.text}, *images]


def _is_unused(place: _Place | None) -> bool:
    if place is None:
        return True
    begun = place.begun
    if not begun.done() or begun.cancelled() or begun.exception() is not None:
        return begun.done()
    return begun.result().session.why is not None


def _session_id(request: Request) -> str:
    session_id = request.headers.get("x-session-id", "").strip()
    if not session_id:
        raise HTTPException(400, "The header X-Session-ID is missing.")
    return session_id


def _seed(tasks: Tasks, data: dict[str, Any]) -> int:
    """Return the seed of a task, which is given as it is or by its place in a split."""
    task = data.get("task_spec")
    try:
        seed = tasks.one(data)["task"]["seed"] if task is None else task["seed"]
    except IndexError:
        raise HTTPException(400, "Invalid index") from None
    except (KeyError, TypeError):
        seed = None
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise HTTPException(422, "A task is an object with a 'seed', as /task returns it.")
    return seed
