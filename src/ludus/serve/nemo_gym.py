"""NeMo Gym's ``GymnasiumServer`` contract: reset and step with five values, for models that write.

A response is a text or calls of functions, in the form of OpenAI's Responses. Calls of the tools of
:mod:`ludus.serve.tool_calls` are actions, each of them one step; so is JSON, or a command, between
``<action>`` and ``</action>`` in the text. The session is a cookie.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ludus.errors import Error, InvalidAction, SessionGone
from ludus.research.tools.calls import SHELL
from ludus.serve.bridge import answer, read_object
from ludus.serve.episodes import Episode, Episodes
from ludus.serve.errors import told
from ludus.serve.served import Served
from ludus.serve.service import Service
from ludus.serve.tool_calls import ACT, instructions, tools_of, view_of

__all__ = ["routes", "rows"]

_TASK = "_ng_task_index"
_COOKIE = "ludus_episode"
_ACTION = re.compile(r"<action>\s*(.*?)\s*</action>", re.DOTALL)
_MOST_CALLS = 32
_HOW = "Answer with a call of a tool, or write the action between <action> and </action>: {form}."


class _Call(NamedTuple):
    """A call of a tool: that of a function has an id, by which its output is returned."""

    tool: str
    arguments: Mapping[str, Any]
    call_id: str | None = None


class _Outcome(NamedTuple):
    """What the steps of one response came to."""

    observation: str | None
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes for all that a service offers.

    A row of the dataset may have ``env``, to name another than the first, and ``seed`` and
    ``options``, as of an environment's reset.
    """
    made = _Routes(service)
    table = {"/reset": made.reset, "/step": made.step, "/aggregate_metrics": made.aggregate}
    return [Route(path, handler, methods=["POST"]) for path, handler in table.items()]


class _Routes:
    def __init__(self, service: Service) -> None:
        self._owner, self._served = service.owner, service.sessions.served
        self._episodes = Episodes(service.sessions)

    async def reset(self, request: Request) -> Response:
        row = await read_object(request)
        name = row.get("env", next(iter(self._served)))
        seed, options = row.get("seed"), row.get("options")
        if not isinstance(name, str) or name not in self._served:
            raise HTTPException(404, f"{name!r:.100} is not served; there are {list(self._served)}")
        if seed is not None and (type(seed) is not int or not 0 <= seed < 2**63):
            raise HTTPException(422, "The row's 'seed' is not a whole number from 0.")
        if options is not None and not isinstance(options, dict):
            raise HTTPException(422, "The row's 'options' are no object.")
        if (old := request.cookies.get(_COOKIE)) is not None:
            await self._episodes.close(old)
        owner = self._owner(request.scope)
        try:
            episode = await self._episodes.begin(name, seed=seed, options=options, owner=owner)
        except Error as problem:
            heard = told(problem)
            raise HTTPException(heard.status, heard.message) from None
        served, observation = episode.session.served, episode.current().observation
        parts = [
            instructions(served, observation),
            view_of(served, observation).text,
            _how(episode),
        ]
        return _answered({"observation": "\n\n".join(parts), "info": {}}, episode)

    async def step(self, request: Request) -> Response:
        row = await read_object(request)
        response = row.get("response")
        if not isinstance(response, dict) or not isinstance(response.get("output"), list):
            raise HTTPException(422, "The row has no 'response' with an 'output'.")
        try:
            episode = self._episodes.find(request.cookies.get(_COOKIE, ""))
        except SessionGone as problem:
            raise HTTPException(404, str(problem)) from None
        calls = _calls_of(response["output"], episode.session.served.kind)
        if not calls:
            nothing = _Outcome(_how(episode), 0.0, episode.is_over, False, {})
            return _answered(nothing._asdict(), episode)
        outcome = await _carried_out(episode, calls)
        if outcome.terminated or outcome.truncated:
            await self._episodes.close(episode.handle)
        return _answered(outcome._asdict(), episode)

    async def aggregate(self, request: Request) -> Response:
        """Return the mean reward of finished rollouts, in all and by task."""
        rows = (await read_object(request)).get("verify_responses")
        if not isinstance(rows, list) or not all(_has_reward(row) for row in rows):
            raise HTTPException(422, "'verify_responses' is a list of rows with a 'reward'.")
        by_task: dict[int, list[float]] = {}
        for row in rows:
            by_task.setdefault(row.get(_TASK, 0), []).append(float(row["reward"]))
        groups = [{_TASK: task, **_means(found)} for task, found in sorted(by_task.items())]
        total = _means([float(row["reward"]) for row in rows]) if rows else {}
        return answer({"group_level_metrics": groups, "agent_metrics": total, "key_metrics": total})


async def _carried_out(episode: Episode, calls: list[_Call]) -> _Outcome:
    """Take the actions one after the other, until the episode is over."""
    served, outputs, said, total = episode.session.served, [], [], 0.0
    for call in calls:
        try:
            result = await episode.act(call.tool, call.arguments)
        except InvalidAction as problem:
            text = f"{problem} {_how(episode)}"
        except Error as problem:
            text = str(problem)[:2000]
        else:
            total += float(result.reward)
            text = view_of(served, result.observation).text
        if call.call_id is None:
            said.append(text)
        else:
            outputs.append({"call_id": call.call_id, "output": text})
    last = episode.current()
    return _Outcome(
        "\n\n".join(said) or None,
        total,
        bool(last.terminated),
        bool(last.truncated),
        {"tool_outputs": outputs} if outputs else {},
    )


def rows(served: Served, seeds: Iterable[int], *, agent: str = "gymnasium_agent") -> Iterator[Any]:
    """Yield the rows of a dataset, one for each seed, with the tools for the model."""
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.about,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in tools_of(served)
    ]
    for seed in seeds:
        yield {
            "responses_create_params": {"input": [], "tools": tools},
            "agent_ref": {"type": "responses_api_agents", "name": agent},
            "env": served.name,
            "seed": seed,
        }


def _calls_of(output: list[Any], kind: str) -> list[_Call]:
    """Return the calls in a response: of functions, else what stands between the tags."""
    items = [item for item in output if isinstance(item, dict)]
    named = [item for item in items if item.get("type") == "function_call"][:_MOST_CALLS]
    if named:
        return [
            _Call(str(item.get("name")), _object(item.get("arguments")), str(item.get("call_id")))
            for item in named
        ]
    written = _ACTION.findall(_text(items))[-1:]
    if kind == "research":
        return [_Call(SHELL, {"command": command}) for command in written]
    return [_Call(ACT, {"action": _json(text)}) for text in written]


def _text(items: list[dict[str, Any]]) -> str:
    """Return all text of the messages in a response."""
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    whole = [content for content in contents if isinstance(content, str)]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in [*whole, *texts] if isinstance(text, str))


def _object(text: Any) -> dict[str, Any]:
    found = _json(text)
    return found if isinstance(found, dict) else {"arguments": found}


def _json(text: Any) -> Any:
    """Return the data in a JSON text; a text that is none stands for itself."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text


def _how(episode: Episode) -> str:
    is_research = episode.session.served.kind == "research"
    return _HOW.format(form="a command" if is_research else "JSON of the action space")


def _answered(data: dict[str, Any], episode: Episode) -> Response:
    said = answer(data)
    said.set_cookie(_COOKIE, episode.handle, httponly=True, samesite="strict")
    return said


def _has_reward(row: Any) -> bool:
    if not isinstance(row, dict) or type(row.get(_TASK, 0)) is not int:
        return False
    reward = row.get("reward")
    return isinstance(reward, int | float) and math.isfinite(reward)


def _means(rewards: list[float]) -> dict[str, float]:
    return {
        "mean/reward": fmean(rewards),
        "max/reward": max(rewards),
        "min/reward": min(rewards),
    }
