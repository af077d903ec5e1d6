"""The Open Reward Standard: a trainer opens a session for a task and plays it by tool calls.

A task is a seed. Reward and end are told with each call, because the client is the trainer. Answers
of calls are streams of events: the id of the call, and its result in pieces; a client that lost its
connection asks again with the id, and nothing is done twice.
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
from ludus.serve.episodes import Episode, open_episode
from ludus.serve.openenv.tasks import Tasks
from ludus.serve.served import Served
from ludus.serve.service import Service
from ludus.serve.session import Result
from ludus.serve.tool_calls import instructions, tools_of, view_of
from ludus.version import __version__

__all__ = ["routes"]

_MOST_ISSUED = 10_000
_MOST_KEPT = 4
"""Results of calls that are kept for clients that ask again."""
_START_SECONDS = 25.0
_STARTING = {"x-backend-state": "starting", "retry-after": "2"}


@dataclass(slots=True)
class _Place:
    """A session: its episode, which may still be beginning, and its last calls."""

    served: Served
    begun: asyncio.Task[Episode]
    calls: OrderedDict[str, asyncio.Task[dict[str, Any]]] = field(default_factory=OrderedDict)


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes for all that a service offers; the first is the default."""
    made = _Routes(service)
    table: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        ("GET", "/version", made.version),
        ("GET", "/list_environments", made.environments),
        ("POST", "/create_session", made.create_session),
        ("POST", "/delete_session", made.delete),
        ("POST", "/create", made.create),
        ("POST", "/delete", made.delete),
        ("POST", "/ping", made.ping),
    ]
    for prefix in ("", "/{env:path}"):
        table += [
            ("GET", f"{prefix}/tools", made.tools),
            ("GET", f"{prefix}/task_tools", made.tools),
            ("GET", f"{prefix}/splits", made.splits),
            ("GET", f"{prefix}/prompt", made.prompt),
            ("GET", f"{prefix}/messages", made.messages),
            ("POST", f"{prefix}/call", made.call),
        ]
        table += [("POST", f"{prefix}/{name}", made.tasks) for name in _TASKS]
    return [Route(path, handler, methods=[method]) for method, path, handler in table]


_TASKS: dict[str, Callable[[Tasks, dict[str, Any]], dict[str, Any]]] = {
    "tasks": Tasks.all,
    "num_tasks": Tasks.count,
    "task": Tasks.one,
    "task_range": Tasks.part,
}


class _Routes:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._names = {name.lower(): name for name in service.sessions.served}
        self._issued: OrderedDict[str, _Place | None] = OrderedDict()

    async def version(self, request: Request) -> Response:
        return answer({"version": __version__, "build_sha": None})

    async def environments(self, request: Request) -> Response:
        return answer(list(self._names.values()))

    async def tools(self, request: Request) -> Response:
        found = [
            {"name": tool.name, "description": tool.about, "input_schema": tool.parameters}
            for tool in tools_of(self._served(request.path_params.get("env")))
        ]
        return answer({"tools": found, "terminal_tool": None, "supports_score_group": False})

    async def splits(self, request: Request) -> Response:
        return answer(Tasks(self._served(request.path_params.get("env")).name).splits())

    async def tasks(self, request: Request) -> Response:
        tasks = Tasks(self._served(request.path_params.get("env")).name)
        make = _TASKS[request.url.path.rpartition("/")[2]]
        try:
            return answer({"env_name": tasks.name, **make(tasks, await read_object(request))})
        except IndexError:
            raise HTTPException(400, "Invalid index") from None

    async def create_session(self, request: Request) -> Response:
        session_id = secrets.token_hex(16)
        self._issued[session_id] = None
        unused = [one for one, place in self._issued.items() if place is None]
        for one in unused[:-_MOST_ISSUED]:
            del self._issued[one]
        nothing: asyncio.Future[None] = asyncio.Future()
        nothing.set_result(None)
        return result_stream(session_id, nothing)

    async def create(self, request: Request) -> Response:
        session_id, data = _session_id(request), await read_object(request)
        if session_id not in self._issued:
            raise HTTPException(404, "There is no such session; ask /create_session for one.")
        if self._issued[session_id] is not None:
            raise HTTPException(400, "The session has an environment already.")
        if data.get("toolset_name") is not None:
            raise HTTPException(400, "There are no toolsets here.")
        served = self._served(data.get("env_name"))
        seed = _seed(Tasks(served.name), data)
        owner = self._service.owner(request.scope)

        async def begin() -> Episode:
            episode = await open_episode(self._service.sessions, served.name, owner=owner)
            await episode.begin(seed=seed)
            return episode

        begun = asyncio.create_task(begin())
        begun.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._issued[session_id] = _Place(served, begun)
        return answer({"sid": session_id})

    async def delete(self, request: Request) -> Response:
        session_id = _session_id(request)
        place = self._issued.pop(session_id, None)
        if place is not None:
            place.begun.add_done_callback(self._close)
        return answer({"sid": session_id})

    def _close(self, begun: asyncio.Task[Episode]) -> None:
        if not begun.cancelled() and begun.exception() is None:
            closing = self._service.sessions.close(begun.result().handle)
            task = asyncio.ensure_future(closing)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def ping(self, request: Request) -> Response:
        place = self._place(request)
        if place.begun.done():
            (await place.begun).session.used_at = time.monotonic()
        return answer({"status": "ok"})

    async def prompt(self, request: Request) -> Response:
        return answer(await self._prompt(request))

    async def messages(self, request: Request) -> Response:
        return answer([{"role": "user", "blocks": await self._prompt(request)}])

    async def call(self, request: Request) -> Response:
        data = await read_object(request)
        place, call_id = self._place(request), data.get("task_id")
        episode = await self._episode(place)
        if call_id is None:
            call_id = secrets.token_hex(16)
            task = asyncio.create_task(_called(episode, data))
            place.calls[call_id] = task
            while len(place.calls) > _MOST_KEPT:
                place.calls.popitem(last=False)
        elif call_id not in place.calls:
            raise HTTPException(404, "There is no such call, or its result is no longer kept.")
        return result_stream(call_id, place.calls[call_id])

    async def _prompt(self, request: Request) -> list[dict[str, Any]]:
        place = self._place(request)
        episode = await self._episode(place)
        observation = episode.current().observation
        text = {"type": "text", "text": instructions(place.served, observation)}
        return [text, *_blocks(place.served, observation)]

    def _served(self, name: object) -> Served:
        if name is None:
            return next(iter(self._service.sessions.served.values()))
        if not isinstance(name, str) or name.lower() not in self._names:
            raise HTTPException(404, f"unknown environment {name!r:.100}")
        return self._service.sessions.served[self._names[name.lower()]]

    def _place(self, request: Request) -> _Place:
        place = self._issued.get(_session_id(request))
        if place is None:
            raise HTTPException(404, "There is no such session, or it has no environment.")
        return place

    async def _episode(self, place: _Place) -> Episode:
        try:
            episode = await asyncio.wait_for(asyncio.shield(place.begun), _START_SECONDS)
            self._service.sessions.get(episode.handle)
        except TimeoutError:
            raise HTTPException(503, "The environment is starting.", _STARTING) from None
        except SessionGone as problem:
            raise HTTPException(410, str(problem)) from None
        except Error as problem:
            raise HTTPException(500, str(problem)[:2000]) from None
        return episode


async def _called(episode: Episode, data: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call of a tool, or why it was not carried out."""
    name, given = data.get("name"), data.get("input")
    served = episode.session.served
    if not isinstance(name, str) or not isinstance(given, dict):
        return _refused("'name' is a text and 'input' an object.", "input_validation")
    if name not in [tool.name for tool in tools_of(served)]:
        return _refused(f"{name!r:.100} is not a valid tool.", "not_found")
    try:
        result = await episode.act(name, given)
    except InvalidAction as problem:
        return _refused(str(problem), "input_validation")
    except ResetNeeded as problem:
        return _refused(str(problem), "episode_finished")
    return {"ok": True, "output": _output(served, result)}


def _output(served: Served, result: Result) -> dict[str, Any]:
    flags = {"terminated": bool(result.terminated), "truncated": bool(result.truncated)}
    return {
        "blocks": _blocks(served, result.observation),
        "metadata": flags,
        "reward": float(result.reward),
        "finished": any(flags.values()),
    }


def _refused(error: str, reason: str) -> dict[str, Any]:
    return {"ok": False, "error": error, "reason": reason}


def _blocks(served: Served, observation: Any) -> list[dict[str, Any]]:
    view = view_of(served, observation)
    pictures = [
        {"type": "image", "data": b64encode(png).decode(), "mimeType": "image/png"}
        for png in view.pictures
    ]
    return [{"type": "text", "text": view.text}, *pictures]


def _session_id(request: Request) -> str:
    session_id = request.headers.get("x-session-id", "").strip()
    if not session_id:
        raise HTTPException(400, "The header X-Session-ID is missing.")
    return session_id


def _seed(tasks: Tasks, data: dict[str, Any]) -> int:
    """Return the seed of a task, which is given as it is or by its place in a split."""
    task = data.get("task_spec")
    if task is None:
        try:
            task = tasks.one(data)["task"]
        except IndexError:
            raise HTTPException(400, "Invalid index") from None
    seed = task.get("seed") if isinstance(task, dict) else None
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise HTTPException(422, "A task is an object with a 'seed', as /task returns it.")
    return seed
