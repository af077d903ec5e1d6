"""Plays episodes on the server that is validated."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from ludus.serve.openenv.grading.check import NotChecked

__all__ = ["Plan", "asked", "plan_of", "play", "play_side_by_side", "reward_of", "seen"]

_SECONDS = 60.0
_LARGEST = 1 << 27


@dataclass(frozen=True)
class Plan:
    """The episode that the package says may be played: the reset and the actions."""

    reset: dict[str, Any]
    actions: tuple[dict[str, Any], ...]


def plan_of(subject: Any) -> Plan:
    """Return the episode that was played to collect evidence.

    Raises:
        NotChecked: There is no running server, or no evidence.
    """
    evidence = subject.runtime_evidence
    if subject.running is None or evidence is None or evidence.failure_reason:
        raise NotChecked("there is no running server with complete evidence")
    sent = [(row.operation, json.loads(row.request_json)) for row in evidence.exchanges]
    resets = [one.get("data", {}) for kind, one in sent if kind == "reset"]
    if not resets:
        raise NotChecked("no episode was played")
    return Plan(resets[0], tuple(one["data"] for kind, one in sent if kind == "step"))


def play(subject: Any, plan: Plan, **instead: Any) -> list[dict[str, Any]]:
    """Play an episode in a session of its own; return the data of all answers.

    Args:
        subject: The running server.
        plan: The episode; it ends early if it is done.
        **instead: Other arguments of the reset.
    """
    with _socket(subject) as socket:
        answers = [_ask(socket, "reset", {**plan.reset, **instead})]
        for action in plan.actions:
            if answers[-1].get("done"):
                break
            answers.append(_ask(socket, "step", action))
        return answers


def play_side_by_side(subject: Any, plans: Sequence[Plan]) -> list[list[dict[str, Any]]]:
    """Play episodes in as many sessions at once, a step of each in turn."""
    if len(plans) != 2:
        raise ValueError("expected two plans")
    with _socket(subject) as first, _socket(subject) as second:
        pairs = list(zip((first, second), plans, strict=True))
        told = [[_ask(socket, "reset", plan.reset)] for socket, plan in pairs]
        for number in range(max(len(plan.actions) for plan in plans)):
            for (socket, plan), answers in zip(pairs, told, strict=True):
                if number < len(plan.actions) and not answers[-1].get("done"):
                    answers.append(_ask(socket, "step", plan.actions[number]))
        return told


def seen(answers: Sequence[dict[str, Any]]) -> list[Any]:
    """Return observations, rewards and ends, without metadata."""
    found = []
    for one in answers:
        observation = dict(one.get("observation") or {})
        observation.pop("metadata", None)
        found.append([observation, one.get("reward"), one.get("done")])
    return found


def reward_of(answers: Sequence[dict[str, Any]]) -> float:
    """Return the sum of all rewards."""
    return float(sum(one.get("reward") or 0.0 for one in answers))


def asked(subject: Any, path: str, data: Any = None) -> Any:
    """Return the answer to an HTTP request; with data it is a POST.

    Raises:
        NotChecked: There is no running server.
        OSError: It does not answer.
        ValueError: The answer is not JSON.
    """
    if subject.running is None:
        raise NotChecked("there is no running server")
    url = subject.running.base_url.rstrip("/") + path
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return json.loads(answer.read(_LARGEST))


@contextmanager
def _socket(subject: Any) -> Iterator[ClientConnection]:
    parts = urlsplit(subject.running.base_url)
    scheme = "wss" if parts.scheme == "https" else "ws"
    url = f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}/ws"
    try:
        with connect(url, max_size=_LARGEST, open_timeout=_SECONDS, proxy=None) as socket:
            yield socket
    except (OSError, WebSocketException) as problem:
        raise NotChecked(f"the server cannot be reached: {type(problem).__name__}") from problem


def _ask(socket: ClientConnection, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    socket.send(json.dumps({"type": kind, "data": data}))
    answer = json.loads(socket.recv(timeout=_SECONDS))
    told = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(told, dict) or answer.get("type") != "observation":
        raise NotChecked(f"a {kind} of the plan was not answered by an observation")
    return told
