"""One line of ``events.jsonl``: what happened, chained to the line before by its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.record.format import canonical
from ludus.record.format.limits import MAX_LINE_BYTES

__all__ = ["EVENTS", "Event", "damaged_line", "now", "parse_line", "write_line"]

EVENTS = "events.jsonl"
_HASH = re.compile("[0-9a-f]{64}")
_KIND = re.compile("[a-z][a-z0-9_.-]{0,63}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_SHORT = 1024
_PLAIN = {bool, int, float, str, type(None)}
_FIELDS = {"n", "kind", "time", "data", "previous", "hash"}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run."""

    n: int
    """Its number, from 0."""
    kind: str
    time: str
    """When, in UTC, by the clock of the machine that wrote it."""
    data: Mapping[str, Any]
    previous: str
    """Hash of the event before; the first one has the manifest's."""
    hash: str
    """SHA-256 of everything else in it."""


def now() -> str:
    """Return the time in UTC as events state it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write_line(n: int, kind: str, data: Mapping[str, Any], previous: str) -> tuple[Event, bytes]:
    """Return the next event of a chain, and its line; raises if the data or the kind do not fit."""
    if not _KIND.fullmatch(kind):
        raise RecordError(
            f"An event's kind is a word of small letters, digits, dots, dashes and underscores, "
            f"at most 64 characters; got {kind!r}."
        )
    time = now()
    start, end = _around_hash(n, kind, time, data, previous)
    name = hashlib.sha256(start + end).hexdigest()
    line = b'%b,"hash":"%b"%b\n' % (start, name.encode(), end)
    if len(line) > MAX_LINE_BYTES:
        raise RecordError(
            f"An event of kind {kind!r} would have {len(line)} bytes; at most {MAX_LINE_BYTES} are "
            "allowed. Put large data into a block or a file."
        )
    return Event(n, kind, time, data, previous, name), line


def damaged_line(number: int, reason: str) -> RecordDamaged:
    """Return the error about a line of ``events.jsonl``, counted from 1."""
    return RecordDamaged(f"{EVENTS} line {number}: {reason}.", file=EVENTS, position=number)


def parse_line(line: bytes, number: int) -> Event:
    """Return the event of one untrusted line, with its end of line; its hash is checked.

    Raises:
        RecordDamaged: It is no event, or its hash is wrong; the message has the line's number.
    """
    try:
        if len(line) > _SHORT:
            return _parse(line)
        event, is_flat = _parse_short(line)
        # A copy: the caller may change the data, and the cached event must stay as it is.
        return replace(event, data=dict(event.data)) if is_flat else _parse(line)
    except CodecError as problem:
        raise damaged_line(number, str(problem).rstrip(".")) from None


@lru_cache(maxsize=1024)
def _parse_short(line: bytes) -> tuple[Event, bool]:
    """Return the event of a line, and whether its data holds nothing that can be changed.

    Verifying a run reads its lines several times, and most are short.
    """
    event = _parse(line)
    return event, all(type(value) in _PLAIN for value in event.data.values())


def _parse(line: bytes) -> Event:
    raw = canonical.loads(line[:-1])
    if not isinstance(raw, dict) or raw.keys() != _FIELDS:
        raise CodecError(f"an event has the fields {', '.join(sorted(_FIELDS))}, and no others")
    if type(raw["n"]) is not int or not isinstance(raw["data"], dict):
        raise CodecError("n must be an integer, and data an object")
    patterns = (("kind", _KIND), ("time", _TIME), ("previous", _HASH), ("hash", _HASH))
    for field, pattern in patterns:
        if not isinstance(raw[field], str) or not pattern.fullmatch(raw[field]):
            raise CodecError(f"its {field} is malformed")
    event = Event(**raw)
    start, _, end = line[:-1].rpartition(b',"hash":"%b"' % event.hash.encode())
    if hashlib.sha256(start + end).hexdigest() != event.hash:
        raise CodecError("its content does not have the hash it states; it has been changed")
    return event


def _around_hash(
    n: int, kind: str, time: str, data: Mapping[str, Any], previous: str
) -> tuple[bytes, bytes]:
    """Return the canonical event in two pieces: the hash, by its name, belongs between them."""
    start = b'{"data":%b' % canonical.dumps(data)
    end = f',"kind":"{kind}","n":{n},"previous":"{previous}","time":"{time}"}}'
    return start, end.encode()
