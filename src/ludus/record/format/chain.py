"""The state of a run after some events, and which event may come next.

The writer, the reader and the checker all use it, so they agree on what a run is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ludus.record.format.event import EVENTS, Event, damaged_line
from ludus.record.format.folder import DRAFT
from ludus.record.format.limits import MAX_BLOCK_BYTES, MAX_FILE_BYTES

__all__ = ["COMPLETE", "INTERRUPTED", "OWN_KINDS", "ChainState", "file_name_problem"]

COMPLETE, INTERRUPTED = "complete", "interrupted"
OWN_KINDS = frozenset({"open", "block", "file", "resume", "close"})
"""Events that a run writes by itself."""

_HASH = re.compile("[0-9a-f]{64}")
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
    return isinstance(value, str) and _HASH.fullmatch(value) is not None
