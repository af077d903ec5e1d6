"""Reactions of a scripted model server to requests, and policies that choose them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "Break",
    "Call",
    "ChatRequest",
    "Fail",
    "Policy",
    "Raw",
    "Reaction",
    "Say",
    "Slow",
    "by_step",
    "count_tokens",
    "in_order",
]

CHARACTERS_PER_TOKEN = 4
_LEFT_OUT = re.compile(r"\[(\d{1,9}) steps are left out here\]")


def count_tokens(value: Any) -> int:
    """Return the tokens of plain data by a simple count: four characters of its JSON each."""
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a client asks."""

    number: int
    """From 0, over all requests to the server."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """Of the conversation."""
        return list(self.body.get("messages") or ())

    @property
    def text(self) -> str:
        """All that is said in the conversation."""
        return "\n".join(str(message.get("content") or "") for message in self.messages)

    @property
    def step(self) -> int:
        """How often the model has spoken, what the client says to have left out included."""
        said = 0
        for message in self.messages:
            if message.get("role") == "assistant":
                said += 1
            elif note := _LEFT_OUT.fullmatch(str(message.get("content"))):
                said += int(note[1])
        return said

    @property
    def tokens(self) -> int:
        """Of the prompt, by the server's simple count."""
        return count_tokens(self.messages)


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with a text."""

    text: str
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Call:
    """Answer with a tool call; arguments may be a text, which need not be JSON."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer with this JSON and nothing else."""

    body: Any


@dataclass(frozen=True, slots=True)
class Fail:
    """Refuse, with a status and an error's body."""

    status: int
    message: str = "injected fault"
    code: str | None = None
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """Send ``truncated`` JSON, a body ``short`` of its length, or ``nothing`` at all."""

    how: str = "truncated"


@dataclass(frozen=True, slots=True)
class Slow:
    """Wait, then react."""

    seconds: float
    then: Reaction


Reaction: TypeAlias = Say | Call | Raw | Fail | Break | Slow
Policy: TypeAlias = Callable[[ChatRequest], Reaction]


def in_order(reactions: Iterable[Reaction]) -> Policy:
    """Return the policy that reacts to request after request; it refuses when none is left."""
    listed = list(reactions)

    def policy(request: ChatRequest) -> Reaction:
        if request.number < len(listed):
            return listed[request.number]
        return Fail(400, f"the script has only {len(listed)} reactions")

    return policy


def by_step(scripts: Mapping[str, Sequence[Reaction]]) -> Policy:
    """Return the policy for many conversations at once.

    How far a script has come is read from the conversation itself, so that an episode may continue
    with another server. After a script's end its last reaction is repeated.

    Args:
        scripts: Reactions by a text that only the first messages of such a conversation have.
    """

    def policy(request: ChatRequest) -> Reaction:
        opening = "\n".join(str(m.get("content") or "") for m in request.messages[:2])
        for mark, script in scripts.items():
            if mark in opening:
                return script[min(request.step, len(script) - 1)]
        return Fail(400, "no script is meant for this conversation")

    return policy
