"""The conversation with a model in the record of an episode.

Each answered call of a model is an event ``ask``, written before anything follows from it::

    n           the step that is being decided on
    call        number of the call in the record, from 0
    kept        the prompt begins with so many messages of the prompt before
    messages    SHA-256 of each further message of the prompt
    tools       SHA-256 of the schemas of tools; "" without tools
    bodies      messages and schemas that no earlier event has, by their SHA-256
    reply       the assistant's message as the server gave it
    finish      why it ended: stop, length, tool_calls, …
    usage       prompt_tokens, completion_tokens, cached_tokens, retries, cost; estimated: true if
                the server did not count
    seconds     from the first attempt to the answer
    reasoning   given by the server apart from the message
    token_ids   {prompt, completion}, if the server gives them
    logprobs    log-probability of each token of the reply, likewise
    probe       true if the call only tried whether the server answers

What makes an event larger than 64 KiB is kept in files ``conversation/SHA-256``: a body is then
missing in ``bodies``, another field has the value ``{"file": SHA-256}``.
"""

from __future__ import annotations

import hashlib
import json
import math
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ludus.errors import RecordDamaged, RecordError
from ludus.record.format.folder import Folder
from ludus.research.agents.calls import MOST_MESSAGES, ModelCall
from ludus.research.agents.replies import Answer, reply_of

if TYPE_CHECKING:
    from ludus.record.run.reader import RunReader
    from ludus.research.running.log import Log

__all__ = ["FOLDER", "Asks", "Conversation", "RecordedCall", "read_calls"]

FOLDER = "conversation"
_MALFORMED = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
_INLINE = 1 << 16
_LARGEST = 1 << 26
_MOST_IN_ALL = 10_000_000
"""Messages of all prompts of a record: an event of a few bytes may stand for a hundred thousand."""
_OPTIONAL = ("reasoning", "token_ids", "logprobs")


@dataclass(slots=True)
class Asks:
    """What the events ``ask`` of a record add up to, checked as they come.

    Attributes:
        count: How many there are.
        shown: SHA-256 of the messages of the last prompt.
        bodies: SHA-256 of all bodies in events.
        files: SHA-256 of those in files.
        pending: Those since the last decision, each with its whole prompt.
        total: Messages of all prompts together.
    """

    count: int = 0
    shown: tuple[str, ...] = ()
    bodies: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    pending: list[tuple[tuple[str, ...], Mapping[str, Any]]] = field(default_factory=list)
    total: int = 0

    @property
    def cost(self) -> float:
        """Money for the pending calls."""
        return sum(float(data["usage"]["cost"]) for _, data in self.pending)

    def file(self, data: Mapping[str, Any]) -> bool:
        """Process the data of an event ``file``; return whether it is one of the conversation."""
        is_own: bool = data["path"].startswith(f"{FOLDER}/")
        if is_own:
            self.files.add(data["sha256"])
        return is_own

    def take(self, data: Mapping[str, Any]) -> None:
        """Process the data of the next event ``ask``, which need not be trusted.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has another type.
            ValueError: It does not follow from the ones before.
        """
        if data["call"] != self.count:
            raise ValueError(f"it has number {data['call']!r:.20} after {self.count} calls")
        kept = data["kept"]
        if type(kept) is not int or not 0 <= kept <= len(self.shown):
            raise ValueError(f"it keeps {kept!r:.20} of {len(self.shown)} messages")
        for digest, body in data["bodies"].items():
            if digest in self or hashlib.sha256(_text_of(body)).hexdigest() != digest:
                raise ValueError(f"the body {digest:.20} is there twice, or has another hash")
            self.bodies.add(digest)
        if not self.has_room(kept + len(data["messages"])):
            raise ValueError("the prompts so far have too many messages")
        shown = (*self.shown[:kept], *data["messages"])
        named = [*data["messages"], *([data["tools"]] if data["tools"] else [])]
        files = {file for name in ("reply", *_OPTIONAL) if (file := _file(data.get(name)))}
        is_known = files <= self.files and all(one in self for one in named)
        if len(shown) > MOST_MESSAGES or not is_known:
            raise ValueError("it names messages that are nowhere in the record, or too many")
        _ = float(data["seconds"]), data["reply"], data["finish"]
        if not 0 <= float(data["usage"]["cost"]) < math.inf:
            raise ValueError("its cost is no amount")
        self.count, self.shown, self.total = self.count + 1, shown, self.total + len(shown)
        self.pending.append((shown, data))

    def has_room(self, messages: int) -> bool:
        """Whether a record may have a further prompt with so many messages."""
        return self.total + messages <= _MOST_IN_ALL

    def __contains__(self, digest: object) -> bool:
        return digest in self.bodies or digest in self.files

    def decided(self) -> None:
        """Forget the pending calls: what follows from them is recorded."""
        self.pending.clear()


class Conversation:
    """Writes the calls of an episode's model; see :class:`ludus.research.agents.calls.CallLog`.

    Answers that were recorded before the episode was interrupted, and from which no decision was
    recorded, are returned again to the same request.

    Attributes:
        problem: Why nothing could be written or read, which is not the agent's fault; its code may
            hide the exception.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._known = [one for one in log.story.asks.pending if not one[1].get("probe")]
        self.problem: RecordError | None = None

    def known(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> Answer | None:
        """Return the recorded answer to a request; each is returned once.

        Raises:
            RecordDamaged: It is not what it was.
        """
        if not self._known:
            return None
        shown = tuple(_digest(one) for one in messages)
        named = _digest(list(tools)) if tools else ""
        for place, (before, data) in enumerate(self._known):
            if (before, data["tools"]) == (shown, named):
                del self._known[place]
                try:
                    return _answer(_read_call(self._log.path, data, (), ()))
                except RecordError as problem:
                    self.problem = problem
                    raise
        return None

    def add(self, call: ModelCall) -> None:
        """Write a call.

        Raises:
            CodecError: A message is no plain data.
            RecordError: It cannot be written.
            ValueError: The prompts so far have too many messages.
        """
        if not self._log.story.asks.has_room(len(call.messages)):
            raise ValueError(f"The prompts of an episode may have {_MOST_IN_ALL:,} messages.")
        try:
            with _uninterrupted():
                self._write(call)
        except RecordError as problem:
            self.problem = problem
            raise

    def _write(self, call: ModelCall) -> None:
        asks, answer = self._log.story.asks, call.answer
        bodies: dict[str, Any] = {_digest(one): one for one in call.messages}
        shown = tuple(_digest(one) for one in call.messages)
        kept = 0
        while kept < min(len(shown), len(asks.shown)) and shown[kept] == asks.shown[kept]:
            kept += 1
        tools = list(call.tools)
        if tools:
            bodies[_digest(tools)] = tools
        room = _Room(self._log)
        data: dict[str, Any] = {
            "n": len(self._log.story.steps),
            "call": asks.count,
            "kept": kept,
            "messages": list(shown[kept:]),
            "tools": _digest(tools) if tools else "",
            "finish": answer.finish,
            "usage": _usage(call),
            "seconds": round(answer.seconds, 6),
            "reply": room.put(dict(answer.message)),
        }
        ids = {"prompt": answer.prompt_token_ids, "completion": answer.completion_token_ids}
        given: dict[str, Any] = {
            "reasoning": answer.reasoning,
            "token_ids": {name: one for name, one in ids.items() if one},
            "logprobs": answer.logprobs,
        }
        data |= {name: room.put(value) for name, value in given.items() if value}
        if call.is_probe:
            data["probe"] = True
        fresh = {name: body for name, body in bodies.items() if name not in asks}
        data["bodies"] = {name: body for name, body in fresh.items() if room.takes(body)}
        self._log.ask(data)


class _Room:
    """How much an event may hold; what is larger goes into files."""

    def __init__(self, log: Log) -> None:
        self._log, self._left = log, _INLINE

    def takes(self, value: Any) -> bool:
        """Whether a value is for the event; otherwise it is stored as a file."""
        text = _text_of(value)
        if len(text) <= self._left:
            self._left -= len(text)
            return True
        self._log.body(hashlib.sha256(text).hexdigest(), text)
        return False

    def put(self, value: Any) -> Any:
        """Return a value, or the name of its file."""
        return value if self.takes(value) else {"file": _digest(value)}


def _usage(call: ModelCall) -> dict[str, Any]:
    answer = call.answer
    stated = answer.prompt_tokens is not None and answer.completion_tokens is not None
    return {
        **call.usage,
        "cached_tokens": answer.cached_tokens,
        "retries": answer.retries,
        "cost": call.cost,
        **({} if stated else {"estimated": True}),
    }


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back signals that would break off a write; they arrive afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGALRM, signal.SIGINT))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _text_of(value: Any) -> bytes:
    """Return the bytes whose SHA-256 names a value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _digest(value: Any) -> str:
    return hashlib.sha256(_text_of(value)).hexdigest()


def _file(value: Any) -> str | None:
    """Return the file that stands for a value, if one does."""
    if isinstance(value, Mapping) and value.keys() == {"file"} and isinstance(value["file"], str):
        return value["file"]
    return None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of a model as a record has it.

    Attributes:
        n: The step that was being decided on.
        messages: The whole prompt.
        tools: Schemas of tools.
        reply: The assistant's message.
        finish: Why it ended.
        usage: Tokens, retries and cost.
        seconds: From the first attempt to the answer.
        reasoning: What the server gave apart from the message.
        prompt_token_ids: ``None`` where the server did not give them, as the next two.
        completion_token_ids: Of the reply.
        logprobs: Of the reply's tokens.
        is_probe: Whether the call only tried whether the server answers.
    """

    n: int
    messages: tuple[Mapping[str, Any], ...]
    tools: Sequence[Mapping[str, Any]]
    reply: Mapping[str, Any]
    finish: str
    usage: Mapping[str, Any]
    seconds: float
    reasoning: str = ""
    prompt_token_ids: Sequence[int] | None = None
    completion_token_ids: Sequence[int] | None = None
    logprobs: Sequence[float] | None = None
    is_probe: bool = False


def read_calls(reader: RunReader) -> Iterator[RecordedCall]:
    """Yield the calls of a model in an episode's record, which need not be trusted.

    Raises:
        RecordDamaged: Events or files are not what they were.
    """
    asks, bodies = Asks(), dict[str, Any]()

    def body(digest: str) -> Any:
        return bodies[digest] if digest in bodies else _stored(reader.path, digest)

    for event in reader.events:
        data = event.data
        if event.kind == "file":
            asks.file(data)
        if event.kind != "ask":
            continue
        try:
            asks.take(data)
            asks.decided()
            bodies |= data["bodies"]
            tools = body(data["tools"]) if data["tools"] else ()
            yield _read_call(reader.path, data, tuple(map(body, asks.shown)), tools)
        except _MALFORMED as problem:
            raise RecordDamaged(f"Event {event.n} is no call of a model: {problem}.") from problem


def _read_call(path: Any, data: Mapping[str, Any], messages: Any, tools: Any) -> RecordedCall:
    def value(name: str) -> Any:
        file = _file(given := data.get(name))
        return given if file is None else _stored(path, file)

    ids = value("token_ids") or {}
    return RecordedCall(
        n=int(data["n"]),
        messages=messages,
        tools=tools,
        reply=value("reply"),
        finish=str(data["finish"]),
        usage=data["usage"],
        seconds=float(data["seconds"]),
        reasoning=str(value("reasoning") or ""),
        prompt_token_ids=ids.get("prompt"),
        completion_token_ids=ids.get("completion"),
        logprobs=value("logprobs"),
        is_probe=bool(data.get("probe")),
    )


def _stored(path: Any, digest: str) -> Any:
    """Return the value in a file of a record."""
    with Folder(path) as folder:
        content = folder.read(f"{FOLDER}/{digest}", _LARGEST)
    if content is None or hashlib.sha256(content).hexdigest() != digest:
        name = f"{FOLDER}/{digest}"
        raise RecordDamaged(f"{name} is missing, or not what it was.", file=name)
    return json.loads(content)


def _answer(call: RecordedCall) -> Answer:
    """Return the answer of a recorded call."""
    counted = not call.usage.get("estimated")
    return Answer(
        reply_of(call.reply, call.reasoning, call.finish),
        message=call.reply,
        reasoning=call.reasoning,
        finish=call.finish,
        prompt_tokens=call.usage["prompt_tokens"] if counted else None,
        completion_tokens=call.usage["completion_tokens"] if counted else None,
        cached_tokens=call.usage["cached_tokens"],
        retries=call.usage["retries"],
    )
