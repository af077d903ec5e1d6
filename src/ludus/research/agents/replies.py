"""Parses a chat completion, without trust in the server, and the action in its reply."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ludus.research.episode.actions import Action, read_action
from ludus.research.tools.calls import SHELL

__all__ = [
    "Answer",
    "Malformed",
    "Parsed",
    "Reply",
    "ToolCall",
    "Unreadable",
    "parse_answer",
    "parse_reply",
    "utf8",
]

MAX_ACTION_CHARACTERS = 200_000
_FENCE = re.compile(r"^ {0,3}```[^\n`]*\n(.*?)^ {0,3}```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks a tool to do; all of it is the model's word."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One message of a model."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    """Whether it ended because it had become too long."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """An action that can be carried out."""

    action: Action
    call: ToolCall | None = None
    note: str = ""
    """What the model should know besides the result."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A reply without a usable action."""

    reason: str
    """A sentence for the model."""


def parse_reply(reply: Reply, style: str) -> Parsed | Malformed:
    """Return the one action of a reply, or why there is none."""
    found = _from_call(reply) if style == "tools" else _from_text(reply)
    if isinstance(found, Malformed) and reply.is_cut:
        return Malformed(f"the reply was cut off because it was too long. {found.reason}")
    return found


def utf8(text: str) -> str:
    """Return the text without halves of surrogate pairs, which no file and no request can hold."""
    return text.encode("utf-8", "replace").decode()


def _from_text(reply: Reply) -> Parsed | Malformed:
    blocks = _FENCE.findall(reply.text)
    if len(blocks) != 1:
        return Malformed(f"the reply has {len(blocks) or 'no'} fenced blocks instead of one.")
    return _shell(blocks[0].strip("\n"), None, "")


def _from_call(reply: Reply) -> Parsed | Malformed:
    if not reply.calls:
        return Malformed("the reply has no tool call.")
    call = reply.calls[0]
    more = len(reply.calls) - 1
    note = f"(Only the first call was carried out; {more} more were not.)" if more else ""
    if len(call.arguments) > MAX_ACTION_CHARACTERS:
        return Malformed(f"the arguments have more than {MAX_ACTION_CHARACTERS} characters.")
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return Malformed(f"the arguments of {call.name[:80]!r} are no JSON.")
    if not isinstance(arguments, dict):
        return Malformed(f"the arguments of {call.name[:80]!r} are no object.")
    action = {"tool": call.name[:80], "arguments": arguments}
    if problem := read_action(action).problem:
        return Malformed(problem)
    if call.name == SHELL:
        return _shell(arguments["command"], call, note)
    return Parsed(action, call, note)


def _shell(command: str, call: ToolCall | None, note: str) -> Parsed | Malformed:
    if not command.strip():
        return Malformed("the command is empty.")
    if len(command) > MAX_ACTION_CHARACTERS:
        return Malformed(f"the command has more than {MAX_ACTION_CHARACTERS} characters.")
    if problem := read_action(command).problem:
        return Malformed(problem)
    return Parsed(command, call, note)


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
