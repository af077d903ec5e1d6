"""Run folders made by hand: the chain is right, what it says may be anything."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from ludus.record import Run
from ludus.record.format import canonical
from ludus.record.format.event import build_manifest, write_line

SUBJECT = {"about": "a test"}


def forge(path: Path, events, blocks: bytes = b"", manifest: bytes | None = None) -> Path:
    """Write a folder with these events, each ``(kind, data)``, after an ``open``."""
    path.mkdir(parents=True, exist_ok=True)
    manifest = manifest or build_manifest("test", SUBJECT, {})
    (path / "manifest.json").write_bytes(manifest)
    previous, lines = hashlib.sha256(manifest).hexdigest(), []
    for n, (kind, data) in enumerate([("open", {}), *events]):
        event, line = write_line(n, kind, data, previous)
        previous = event.hash
        lines.append(line)
    (path / "events.jsonl").write_bytes(b"".join(lines))
    (path / "blocks.bin").write_bytes(blocks)
    return path


def vouch(block: bytes, rows: int, /, **changes) -> tuple[str, dict]:
    """Return an event for a block that lies at the beginning."""
    checksum = hashlib.sha256(block).hexdigest()
    data = {"offset": 0, "length": len(block), "rows": rows, "first_row": 0, "sha256": checksum}
    return "block", data | changes


def block_of(table, payload: bytes = b"", *, header: bytes | None = None) -> bytes:
    """Return a block with a table that may lie; padded as it should be."""
    text = table if isinstance(table, bytes) else canonical.dumps(table)
    start = header or b"LUDB\x01\0\0\0" + len(text).to_bytes(4, "little")
    head = start + text
    return head + bytes(-len(head) % 64) + payload + bytes(-len(payload) % 64)


def column(**changes) -> dict:
    fields = {"name": "x", "dtype": "|u1", "shape": [], "encoding": "raw", "offset": 0}
    return fields | changes


def append(path, data):
    """Add bytes to the end of a file, as a writer that was killed may have done."""
    with path.open("ab") as file:
        file.write(data)


def columns(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return a column of each encoding."""
    rng = np.random.default_rng(seed)
    return {
        "action": rng.integers(0, 5, (rows, 3)).astype(np.int8),
        "reward": np.ones((rows, 3)),
        "terminated": rng.random((rows, 3)) < 0.3,
    }


def small_run(path: Path, **options) -> Path:
    """Write a complete run with two blocks, some notes and a file."""
    with Run.create(path, kind="test", subject=SUBJECT, **options) as run:
        run.append("note", {"text": "first"})
        run.append_block(columns(10))
        run.append("note", {"text": "second"})
        run.append_block(columns(7, seed=1))
        run.add_file("extra/notes.txt", b"some text")
    return path


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "events.jsonl").read_bytes().splitlines()]
