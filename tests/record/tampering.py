"""An enemy's tools: runs taken apart, changed, and put together again with a chain that holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ludus.record import read_run
from ludus.record.format import canonical
from ludus.record.format.block import pack_block
from ludus.record.format.event import write_line

__all__ = ["Forgery", "events_of", "write_events"]


@dataclass
class Forgery:
    """A run in pieces; :meth:`write` hashes everything anew, as whoever has no key can."""

    path: Path
    manifest: dict[str, Any] = field(init=False)
    events: list[list[Any]] = field(init=False)
    """Pairs of kind and data; the data of a block are its columns."""

    def __post_init__(self) -> None:
        reader = read_run(self.path)
        self.manifest = dict(reader.manifest)
        self.events = []
        for event in reader.events:
            data: Any = dict(event.data)
            if event.kind == "block":
                block = reader.block(event)
                data = {name: np.array(block[name]) for name in block}
            self.events.append([event.kind, data])

    def of(self, kind: str) -> list[Any]:
        """Return the data of all events of a kind."""
        return [data for each, data in self.events if each == kind]

    def without(self, keep: Callable[[str, Any], bool]) -> None:
        self.events = [event for event in self.events if keep(*event)]

    def add(self, kind: str, data: Any) -> None:
        """Put an event before the last one, which closes the run."""
        self.events.insert(len(self.events) - 1, [kind, data])

    def write(self) -> None:
        content = canonical.dumps(self.manifest) + b"\n"
        head, offset, rows = hashlib.sha256(content).hexdigest(), 0, 0
        lines, blocks = [], []
        for n, (kind, given) in enumerate(self.events):
            data = given
            if kind == "block":
                packed = pack_block(given)
                blocks += [bytes(part) for part in packed.parts]
                data = {
                    "offset": offset,
                    "length": packed.length,
                    "rows": packed.rows,
                    "first_row": rows,
                    "sha256": packed.sha256,
                }
                offset, rows = offset + packed.length, rows + packed.rows
            elif kind == "close":
                data = {**given, "rows": rows}
            event, line = write_line(n, kind, data, head)
            head = event.hash
            lines.append(line)
        (self.path / "manifest.json").write_bytes(content)
        (self.path / "events.jsonl").write_bytes(b"".join(lines))
        (self.path / "blocks.bin").write_bytes(b"".join(blocks))


def events_of(path: Path) -> list[bytes]:
    """Return the lines of a run's events."""
    return (path / "events.jsonl").read_bytes().splitlines(keepends=True)


def write_events(path: Path, lines: list[bytes]) -> None:
    (path / "events.jsonl").write_bytes(b"".join(lines))


def kinds_of(path: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in events_of(path)]
