"""One line of ``events.jsonl``: what happened, chained to the line before by its hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.record.format import canonical
from ludus.record.format.folder import DRAFT, Folder
from ludus.record.format.limits import MAX_BLOCK_BYTES, MAX_FILE_BYTES, MAX_LINE_BYTES

__all__ = [
    "COMPLETE",
    "EVENTS",
    "INTERRUPTED",
    "MANIFEST",
    "OWN_KINDS",
    "ChainState",
    "Event",
    "build_manifest",
    "damaged_line",
    "file_name_problem",
    "now",
    "parse_line",
    "parse_manifest",
    "read_manifest",
    "write_line",
]

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


COMPLETE, INTERRUPTED = "complete", "interrupted"
OWN_KINDS = frozenset({"open", "block", "file", "resume", "close"})
"""Events that a run writes by itself."""

_DIGEST = re.compile("[0-9a-f]{64}")
_RESERVED = {"manifest.json", EVENTS, "blocks.bin", "signature.json"}
_NAME_BYTES, _NAME_PARTS = 240, 8


@dataclass(frozen=True, slots=True)
class ChainState:
    """The state of a run after some of its events; a new one comes with each."""

    head: str
    """Hash of the last event, of the manifest before the first."""
    events: int = 0
    events_end: int = 0
    """Where the next line begins in ``events.jsonl``."""
    blocks_end: int = 0
    """Where the next block begins in ``blocks.bin``."""
    rows: int = 0
    outcome: str | None = None
    """Of the event ``close``, if that was the last one."""

    def after(self, event: Event, line_bytes: int) -> ChainState:
        """Return the state with one event more.

        Raises:
            RecordDamaged: The event cannot come here: it does not follow the last one, or what it
                says cannot be.
        """
        if reason := self._refusal(event):
            raise damaged_line(self.events + 1, reason)
        data = event.data
        is_block = event.kind == "block"
        return ChainState(
            event.hash,
            self.events + 1,
            self.events_end + line_bytes,
            self.blocks_end + (data["length"] if is_block else 0),
            self.rows + (data["rows"] if is_block else 0),
            data["outcome"] if event.kind == "close" else None,
        )

    def _refusal(self, event: Event) -> str | None:
        if event.n != self.events:
            return f"event {event.n} is where event {self.events} should be"
        if event.previous != self.head:
            before = "manifest.json" if not event.n else "the event before"
            return f"the chain is broken: {before} does not have the hash that is stated here"
        if (event.kind == "open") is not (event.n == 0):
            return "the first event, and no other, is of the kind open"
        if self.outcome is not None and (event.kind != "resume" or self.outcome == COMPLETE):
            return "something follows the event that closed the run"
        check = _CHECKS.get(event.kind)
        return check(self, event.data) if check else None


def file_name_problem(name: object) -> str | None:
    """Return what is wrong with the name of a free file, if anything."""
    if not isinstance(name, str) or not 0 < len(name.encode(errors="replace")) <= _NAME_BYTES:
        return f"is no text of 1 to {_NAME_BYTES} bytes"
    parts = name.split("/")
    if len(parts) > _NAME_PARTS or any(part in ("", ".", "..") for part in parts):
        return f"is no path of up to {_NAME_PARTS} names below the run folder"
    if not name.isprintable() or "\\" in name:
        return "holds characters that are not for file names"
    if parts[0] in _RESERVED or any(part.endswith(DRAFT) for part in parts):
        return "is kept for the run itself"
    return None


def _block_refusal(ledger: ChainState, data: Mapping[str, Any]) -> str | None:
    if data.keys() != {"offset", "length", "rows", "first_row", "sha256"}:
        return "a block has the fields offset, length, rows, first_row and sha256"
    if not all(_is_count(data[key]) for key in ("offset", "length", "rows", "first_row")):
        return "a block's offset, length and rows must be integers, not negative"
    if not _is_hash(data["sha256"]):
        return "a block's sha256 is malformed"
    if not 0 < data["length"] <= MAX_BLOCK_BYTES or not data["rows"]:
        return f"a block has 1 to {MAX_BLOCK_BYTES} bytes and at least one row"
    if data["offset"] != ledger.blocks_end:
        return f"a block lies at {data['offset']} where the one before ends at {ledger.blocks_end}"
    if data["first_row"] != ledger.rows:
        return f"a block begins with row {data['first_row']} after {ledger.rows} rows"
    return None


def _file_refusal(_: ChainState, data: Mapping[str, Any]) -> str | None:
    if data.keys() != {"path", "sha256", "bytes"}:
        return "a file has the fields path, sha256 and bytes"
    if problem := file_name_problem(data["path"]):
        return f"the path of a file {problem}"
    if not _is_hash(data["sha256"]) or not _is_count(data["bytes"]):
        return "a file's sha256 or number of bytes is malformed"
    return f"a file is too large: {data['bytes']}" if data["bytes"] > MAX_FILE_BYTES else None


def _close_refusal(ledger: ChainState, data: Mapping[str, Any]) -> str | None:
    if data.get("outcome") not in (COMPLETE, INTERRUPTED):
        return f"a run is closed as {COMPLETE} or {INTERRUPTED}"
    rows = data.get("rows")
    if rows != ledger.rows or type(rows) is not int:
        return f"the run is closed with {rows!r} rows, its blocks have {ledger.rows}"
    return None


_CHECKS = {"block": _block_refusal, "file": _file_refusal, "close": _close_refusal}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


MANIFEST = "manifest.json"
_MANIFEST_FORMAT, _VERSION = "ludus.run", 1
_OWN: dict[str, type] = {
    "format": str,
    "version": int,
    "id": str,
    "created": str,
    "kind": str,
    "subject": dict,
}


def build_manifest(kind: str, subject: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
    """Return the bytes of a new run's manifest; no two are the same.

    Raises:
        CodecError: Something in it is not plain data.
        RecordError: A field has a name that the manifest itself uses, or it is too large.
    """
    if taken := sorted(_OWN.keys() & fields.keys()):
        raise RecordError(f"A manifest has fields {', '.join(taken)} of its own; rename yours.")
    if not isinstance(kind, str) or not kind or not isinstance(subject, Mapping):
        raise RecordError(f"A run needs a kind and a subject; got {kind!r} and {subject!r:.100}.")
    own = {
        "format": _MANIFEST_FORMAT,
        "version": _VERSION,
        "id": secrets.token_hex(16),
        "created": now(),
        "kind": kind,
        "subject": dict(subject),
    }
    content = canonical.dumps({**fields, **own}) + b"\n"
    if len(content) > MAX_LINE_BYTES:
        raise RecordError(
            f"A manifest of {len(content)} bytes is too large; at most {MAX_LINE_BYTES} are "
            "allowed. Put large data into a file."
        )
    return content


def parse_manifest(content: bytes) -> dict[str, Any]:
    """Return the manifest of untrusted bytes; raises ``RecordDamaged`` if they are none."""

    def damaged(reason: str) -> RecordDamaged:
        return RecordDamaged(f"{MANIFEST}: {reason}.", file=MANIFEST, position=0)

    if not content.endswith(b"\n"):
        raise damaged("its end is missing")
    try:
        manifest = canonical.loads(content[:-1])
    except CodecError as problem:
        raise damaged(str(problem).rstrip(".")) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _MANIFEST_FORMAT:
        raise damaged(f"it does not describe a run: its format is not {_MANIFEST_FORMAT!r}")
    if manifest.get("version") != _VERSION:
        raise damaged(
            f"it has version {manifest.get('version')!r}; this Ludus reads version {_VERSION}"
        )
    for name, wanted in _OWN.items():
        if type(manifest.get(name)) is not wanted:
            raise damaged(f"its field {name} is missing or of another type than {wanted.__name__}")
    return manifest


def read_manifest(folder: Folder) -> tuple[dict[str, Any], bytes]:
    """Return a run folder's manifest and its bytes; raises ``RecordError`` if there is none."""
    content = folder.read(MANIFEST, MAX_LINE_BYTES)
    if content is None:
        raise RecordError(
            f"There is no {MANIFEST} in {folder.path}: this is no run folder, or a run that was "
            "stopped before it began."
        )
    return parse_manifest(content), content
