"""Parses the body of a chat completion, without trust in the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ludus.research.agents.replies import Reply, ToolCall, utf8

__all__ = ["Answer", "Unreadable", "parse_answer"]

MAX_CALLS = 64


class Unreadable(Exception):
    """It is no chat completion."""


@dataclass(slots=True)
class Answer:
    """A reply, and what it took."""

    reply: Reply
    prompt_tokens: int | None = None
    """``None`` where the server does not say."""
    completion_tokens: int | None = None
    cached_tokens: int = 0
    retries: int = 0


def parse_answer(body: Any) -> Answer:
    """Return the reply and the token counts of a chat completion.

    Raises:
        Unreadable: There is no message in it.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Unreadable("it has no choices[0].message")
    cut = choice.get("finish_reason") == "length"
    reply = Reply(_text(message.get("content")), _calls(message.get("tool_calls")), cut)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    prompt = _count(usage.get("prompt_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Answer(
        reply,
        prompt_tokens=prompt,
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=min(cached or 0, prompt or 0),
    )


def _text(content: Any) -> str:
    """Return the text of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        return utf8(content)
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return utf8("".join(text for text in texts if isinstance(text, str)))


def _calls(calls: Any) -> tuple[ToolCall, ...]:
    found = []
    for n, call in enumerate(calls[:MAX_CALLS] if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and isinstance(arguments, str):
            call_id = call.get("id")
            call_id = call_id if isinstance(call_id, str) and call_id else f"call_{n}"
            found.append(ToolCall(utf8(call_id), utf8(name), utf8(arguments)))
    return tuple(found)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**40 else None
