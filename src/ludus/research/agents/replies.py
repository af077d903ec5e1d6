"""Parses a chat completion, without trust in the server, and the action in its reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
    "reply_of",
    "utf8",
]

MAX_ACTION_CHARACTERS = 200_000
_FENCE = re.compile(r"^ {0,3}```[^\n`]*\n(.*?)^ {0,3}```[ \t]*$", re.DOTALL | re.MULTILINE)
_OPEN, _CLOSE = "<think>", "</think>"
_LONE_CLOSE = re.compile(r"^[ \t]*</think>[ \t]*$", re.MULTILINE)


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
    """What it says, without reasoning."""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    """Whether it ended because it had become too long."""
    reasoning: str = ""
    """From the server's own field, or from a ``<think>`` section of the text."""
    is_thinking: bool = False
    """Whether it ended inside its ``<think>`` section."""


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
    if not isinstance(found, Malformed):
        return found
    return Malformed("".join((*_circumstances(reply), found.reason)))


def _circumstances(reply: Reply) -> Iterator[str]:
    """Yield what else is wrong with a malformed reply, as sentences."""
    if reply.is_cut:
        yield "the reply was cut off because it was too long. "
    if reply.is_thinking:
        yield "The reply ended before its reasoning did; think less. "
    elif reply.reasoning and not reply.text.strip() and not reply.calls:
        yield "The reply has reasoning and nothing else. "
    if not _FENCE.search(reply.text) and _FENCE.search(reply.reasoning):
        yield "A command inside the reasoning is not run; repeat it after the reasoning. "


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
    message: Mapping[str, Any] = field(default_factory=dict)
    """The reply as the server gave it, with role, content and tool calls."""
    reasoning: str = ""
    """What the server gave apart from the message."""
    finish: str = ""
    """Why it ended, in the server's word."""
    prompt_tokens: int | None = None
    """``None`` where the server does not say."""
    completion_tokens: int | None = None
    cached_tokens: int = 0
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    """Of the reply's tokens."""
    retries: int = 0
    seconds: float = 0.0
    """From the first attempt to the answer, pauses included."""


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
    finish = choice.get("finish_reason")
    finish = utf8(finish[:80]) if isinstance(finish, str) else ""
    said: dict[str, Any] = {"role": "assistant", "content": _text(message.get("content"))}
    calls = _calls(message.get("tool_calls"))
    if calls:
        said["tool_calls"] = [_plain_call(call) for call in calls]
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    prompt = _count(usage.get("prompt_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    ids, logprobs = _tokens(choice)
    return Answer(
        reply_of(said, thought, finish),
        message=said,
        reasoning=thought,
        finish=finish,
        prompt_tokens=prompt,
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=min(cached or 0, prompt or 0),
        prompt_token_ids=_ids(choice.get("prompt_token_ids")) or _ids(body.get("prompt_token_ids")),
        completion_token_ids=ids,
        logprobs=logprobs,
    )


def reply_of(message: Mapping[str, Any], reasoning: str, finish: str) -> Reply:
    """Return the reply in an assistant's message; a ``<think>`` section is taken out of its text.

    Args:
        message: With ``content`` and, perhaps, ``tool_calls``.
        reasoning: What the server gave apart from it.
        finish: Why it ended; ``"length"`` if it was too long.
    """
    text = _text(message.get("content"))
    thought, text, is_thinking = _without_thinking(text)
    return Reply(
        text,
        _calls(message.get("tool_calls")),
        finish == "length",
        "\n".join(part for part in (reasoning, thought) if part),
        is_thinking,
    )


def _without_thinking(text: str) -> tuple[str, str, bool]:
    """Return what stands in a ``<think>`` section, the rest, and whether the section has no end.

    Some servers give a model's opening tag with the prompt: then only the end is in the text, on a
    line of its own.
    """
    start = text.lstrip()
    if start.startswith(_OPEN):
        thought, end, rest = start[len(_OPEN) :].partition(_CLOSE)
        return thought.strip(), rest.lstrip("\n"), not end
    lone = _LONE_CLOSE.search(text)
    if lone is None or _OPEN in text[: lone.start()]:
        return "", text, False
    return text[: lone.start()].strip(), text[lone.end() :].lstrip("\n"), False


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


def _plain_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**40 else None


MAX_TOKENS = 2**22
LEAST_LOGPROB = -9999.0
"""Stands for minus infinity, which JSON lacks; vLLM writes the same."""
_TOKEN_ID = re.compile(r"token_id:(\d{1,9})").fullmatch


def _ids(value: Any) -> list[int] | None:
    """Return token ids, ``None`` if these are none."""
    if not isinstance(value, list) or not 0 < len(value) <= MAX_TOKENS:
        return None
    return value if all(type(one) is int and 0 <= one < 2**40 for one in value) else None


def _tokens(choice: Mapping[str, Any]) -> tuple[list[int] | None, list[float] | None]:
    """Return ids and log-probabilities of a reply's tokens, as far as a server gives them.

    vLLM has the ids in ``token_ids``, or as texts ``token_id:N``; llama.cpp in each token's ``id``.
    """
    logprobs = choice.get("logprobs")
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    rows = rows if isinstance(rows, list) and 0 < len(rows) <= MAX_TOKENS else []
    given = [row if isinstance(row, dict) else {} for row in rows]
    found = [_logprob(row.get("logprob")) for row in given]
    likely = [one for one in found if one is not None]
    ids = _ids(choice.get("token_ids")) or _ids([_token_id(row) for row in given])
    return ids, likely if likely and len(likely) == len(found) else None


def _logprob(value: Any) -> float | None:
    if type(value) not in (int, float) or value != value:  # NaN
        return None
    # The second bound because rounding may give a probability a little above 1.
    return float(min(max(value, LEAST_LOGPROB), 0.0))


def _token_id(row: Mapping[str, Any]) -> Any:
    named = _TOKEN_ID(row["token"]) if isinstance(row.get("token"), str) else None
    return row.get("id") if named is None else int(named[1])
