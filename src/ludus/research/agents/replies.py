"""Parses a model's reply into an action, strictly."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ludus.research.episode.actions import Action, read_action
from ludus.research.tools.calls import SHELL

__all__ = ["Malformed", "Parsed", "Reply", "ToolCall", "parse_reply", "utf8"]

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
