"""The calls of an episode's model: which messages each had, and where these are in the record.

Bodies of messages are decoded only for the call that is shown.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from ludus.errors import RecordDamaged
from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.files import content_of
from ludus.view.episodes.index import Index
from ludus.view.episodes.trajectory import count_of, number_of, text_of

__all__ = ["CallRow", "Calls", "Message", "ShownCall", "calls_of", "show_call"]

_LARGEST_BODY = 1 << 22
_MOST_MESSAGES = 100_000
_MOST_HELD = 10_000_000  # of all calls together
_LONGEST = 40_000
_BODY_SECONDS = 5.0  # for the messages of a call


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call in a line.

    Attributes:
        number: Of the call, from 0.
        event: Number of its event.
        n: The step that was being decided on.
        shown: SHA-256 of all messages of its prompt.
        kept: How many of them the prompt before began with.
        dropped: How many messages of the prompt before are not in this one.
        tokens: ``prompt``, ``completion`` and ``cached``, where known.
    """

    number: int
    event: int
    n: int
    shown: tuple[str, ...]
    kept: int
    dropped: int
    tokens: Mapping[str, int]
    estimated: bool
    cost: float | None
    seconds: float | None
    finish: str
    retries: int
    is_probe: bool


@dataclass(slots=True)
class Calls:
    """All calls so far, and the event that has each body."""

    rows: list[CallRow] = field(default_factory=list)
    bodies: dict[str, int] = field(default_factory=dict)
    read: int = 0
    held: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Message:
    """A message, as text.

    Attributes:
        role: Who speaks.
        text: What, cut if it is very long.
        length: Characters of all of it.
        is_fresh: Whether the prompt before did not have it.
    """

    role: str
    text: str
    length: int
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call with its messages."""

    row: CallRow
    messages: Sequence[Message]
    left_out: int
    reply: Message
    reasoning: str
    tools: int


_kept: WeakKeyDictionary[Index, Calls] = WeakKeyDictionary()
_lock = threading.Lock()


def calls_of(episode: EpisodeRecord) -> Calls:
    """Return the calls of an episode; what is new since the last time is read.

    Raises:
        RecordDamaged: An event is no call of a model.
    """
    with _lock:
        found = _kept.setdefault(episode.index, Calls())
    with found.lock:
        total = len(episode.index)
        for number in episode.index.numbers("ask"):
            if found.read <= number < total:
                _take(found, number, episode.index.event(episode.handle, number).data)
        found.read = total
    return found


def _take(calls: Calls, event: int, data: Mapping[str, Any]) -> None:
    before = calls.rows[-1].shown if calls.rows else ()
    kept = min(count_of(data.get("kept")) or 0, len(before))
    fresh = data.get("messages")
    fresh = [one for one in fresh if isinstance(one, str)] if isinstance(fresh, list) else []
    shown = (*before[:kept], *fresh)
    # Small events can stand for long prompts, which are all kept.
    calls.held += len(shown)
    if len(shown) > _MOST_MESSAGES or calls.held > _MOST_HELD:
        raise RecordDamaged(f"The prompts up to event {event} have too many messages to be shown.")
    bodies, usage = _mapping(data.get("bodies")), _mapping(data.get("usage"))
    calls.bodies |= dict.fromkeys(bodies, event)
    names = {
        "prompt": "prompt_tokens",
        "completion": "completion_tokens",
        "cached": "cached_tokens",
    }
    tokens = {name: count_of(usage.get(key)) for name, key in names.items()}
    calls.rows.append(
        CallRow(
            number=len(calls.rows),
            event=event,
            n=count_of(data.get("n")) or 0,
            shown=shown,
            kept=kept,
            dropped=len(before) - kept,
            tokens={name: one for name, one in tokens.items() if one is not None},
            estimated=bool(usage.get("estimated")),
            cost=number_of(usage.get("cost")),
            seconds=number_of(data.get("seconds")),
            finish=text_of(data.get("finish")),
            retries=count_of(usage.get("retries")) or 0,
            is_probe=bool(data.get("probe")),
        )
    )


def show_call(episode: EpisodeRecord, calls: Calls, number: int, most: int) -> ShownCall:
    """Return a call with the last ``most`` messages of its prompt, and all that are new in it."""
    row = calls.rows[number]
    data = episode.index.event(episode.handle, row.event).data
    start = min(max(0, len(row.shown) - most), row.kept)
    loaded: dict[int, Mapping[str, Any]] = {row.event: _mapping(data.get("bodies"))}

    stored: dict[str, Message] = {}
    deadline = time.monotonic() + _BODY_SECONDS

    def body(digest: str) -> Any:
        event = calls.bodies.get(digest)
        if event is None:
            return _stored(episode, digest)
        if event not in loaded:
            found = episode.index.event(episode.handle, event).data
            # Events are up to 4 MiB: of those before, only the last one is kept.
            for other in [one for one in loaded if one != row.event]:
                del loaded[other]
            loaded[event] = _mapping(found.get("bodies"))
        return loaded[event].get(digest)

    def message(digest: str, is_fresh: bool) -> Message:
        if digest not in stored:
            late = time.monotonic() > deadline
            stored[digest] = _message(None if late else body(digest), is_fresh)
        return replace(stored[digest], is_fresh=is_fresh)

    def value(name: str) -> Any:
        given = data.get(name)
        if isinstance(given, Mapping) and given.keys() == {"file"}:
            return _stored(episode, text_of(given["file"]))
        return given

    messages = [
        message(digest, place >= row.kept)
        for place, digest in enumerate(row.shown[start : start + 2 * most], start)
    ]
    tools = body(tool) if (tool := text_of(data.get("tools"))) else None
    return ShownCall(
        row=row,
        messages=messages,
        left_out=start,
        reply=_message(value("reply"), True),
        reasoning=text_of(value("reasoning"))[:_LONGEST],
        tools=len(tools) if isinstance(tools, list) else 0,
    )


def _stored(episode: EpisodeRecord, digest: str) -> Any:
    content = content_of(episode, digest, _LARGEST_BODY)
    try:
        return None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return None


def _message(value: Any, is_fresh: bool) -> Message:
    """Return a message of a chat as text: its content, and the tools that it calls."""
    if not isinstance(value, Mapping):
        return Message(
            "unknown", "[This message is not in the record, or is too large.]", 0, is_fresh
        )
    parts = [text_of(value.get("name")) and f"({value['name']})", _content(value.get("content"))]
    calls = value.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = _mapping(_mapping(call).get("function"))
        arguments = function.get("arguments")
        told = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
        parts.append(f"→ {text_of(function.get('name'))} {told}")
    text = "\n".join(part for part in parts if part)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[… more characters]"
    return Message(text_of(value.get("role")) or "unknown", shown, len(text), is_fresh)


def _content(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [_mapping(part).get("text") for part in value]
        return "\n".join(one if isinstance(one, str) else "[no text]" for one in texts)
    return ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
