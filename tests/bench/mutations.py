"""Single changes to anything in a run's folder, as whoever has the folder could make them."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.record.tampering import Forgery

__all__ = ["mutate_folder", "mutate_row"]

JSON = ("bench.json", "results/*.json", "verifications/*.json", "records/*/manifest.json")


def mutate_folder(run: Path, rng: random.Random) -> str:
    """Change one thing in a folder; return what, in words."""
    return rng.choice((_field, _field, _line, _bytes, _file, _chained, _chained))(run, rng)


def mutate_row(row: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a database row with another value in one of its columns."""
    name = rng.choice([name for name in row if name != "number"])
    return {name: _other(row[name], rng)}


def _field(run: Path, rng: random.Random) -> str:
    """Change one value, key or position in a JSON file."""
    path = rng.choice([path for pattern in JSON for path in sorted(run.glob(pattern))])
    data = json.loads(path.read_text())
    where = _mutated(data, rng)
    path.write_text(json.dumps(data))
    return f"{path.name}: {where}"


def _line(run: Path, rng: random.Random) -> str:
    """Drop, repeat, swap or change a line of events."""
    path = rng.choice(sorted(run.glob("records/*/events.jsonl")))
    lines = path.read_bytes().splitlines(keepends=True)
    index = rng.randrange(len(lines))
    what = rng.choice(("drop", "repeat", "swap", "change"))
    if what == "drop":
        del lines[index]
    elif what == "repeat":
        lines.insert(index, lines[index])
    elif what == "swap":
        other = rng.randrange(len(lines))
        lines[index], lines[other] = lines[other], lines[index]
    else:
        data = json.loads(lines[index])
        _mutated(data, rng)
        lines[index] = json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    return f"{what} line {index} of events"


def _bytes(run: Path, rng: random.Random) -> str:
    """Flip, cut off or add bytes of a file."""
    path = rng.choice(_files(run))
    data = bytearray(path.read_bytes())
    if not data:
        return "nothing"
    where = rng.randrange(len(data))
    what = rng.choice(("flip", "flip", "cut", "add", "fill"))
    if what == "flip":
        data[where] ^= 1 << rng.randrange(8)
    elif what == "cut":
        del data[where:]
    elif what == "add":
        data[where:where] = rng.randbytes(3)
    else:
        data[where : where + 8] = bytes(8)
    path.write_bytes(bytes(data))
    return f"{what} byte {where} of {path.name}"


def _file(run: Path, rng: random.Random) -> str:
    """Remove a file, let two change places, or put one in the place of another."""
    files = _files(run)
    one, two = rng.choice(files), rng.choice(files)
    what = rng.choice(("remove", "swap", "copy", "folder"))
    if what == "remove":
        one.unlink()
    elif what == "swap":
        first, second = one.read_bytes(), two.read_bytes()
        one.write_bytes(second)
        two.write_bytes(first)
    elif what == "copy":
        two.write_bytes(one.read_bytes())
    else:
        folders = sorted((run / "records").iterdir())
        first, second = rng.sample(folders, 2)
        shutil.rmtree(first)
        shutil.copytree(second, first)
    return f"{what} {one.name} {two.name}"


def _chained(run: Path, rng: random.Random) -> str:
    """Change a record and hash everything anew, so that the chain holds; the result follows."""
    from ludus.record import read_run

    path = rng.choice(sorted((run / "records").iterdir()))
    forgery = Forgery(path)
    what = rng.choice(("manifest", "event", "column", "drop", "repeat", "swap"))
    events = forgery.events
    index = rng.randrange(len(events))
    if what == "manifest":
        what += " " + _mutated(forgery.manifest, rng)
    elif what == "event":
        plain = [data for kind, data in events if kind != "block" and data]
        what += " " + _mutated(rng.choice(plain), rng)
    elif what == "column":
        block = rng.choice(forgery.of("block"))
        name = rng.choice(sorted(block))
        array = block[name].copy()
        if not array.size:
            return "nothing"
        flat = array.reshape(-1).view("u1")
        flat[rng.randrange(flat.size)] ^= 1
        block[name] = array
        what += f" {name}"
    elif what == "drop":
        del events[index]
    elif what == "repeat":
        events.insert(index, events[index])
    else:
        other = rng.randrange(len(events))
        events[index], events[other] = events[other], events[index]
    try:
        forgery.write()
        head = read_run(path).head
    except Exception as problem:  # no such record can be written
        return f"nothing: {problem!r:.60}"
    result = run / "results" / f"{path.name}.json"
    result.write_text(json.dumps({**json.loads(result.read_text()), "head": head}))
    return f"chained {what}"


def _files(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file() and path.name != "lock")


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Yield every container, key and path."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key, (*path, key)
        yield from _places(node[key], (*path, key))


def _mutated(data: Any, rng: random.Random) -> str:
    """Change one place of plain data; return where and how."""
    node, key, path = rng.choice(list(_places(data)))
    how: dict[str, Callable[[], Any]] = {
        "change": lambda: node.__setitem__(key, _other(node[key], rng)),
        "remove": lambda: node.__delitem__(key),
        "add": lambda: _add(node, rng),
        "move": lambda: _move(node, rng),
    }
    name = rng.choice(("change", "change", "change", "remove", "add", "move"))
    how[name]()
    return f"{name} {'.'.join(map(str, path))}"


def _add(node: Any, rng: random.Random) -> None:
    if isinstance(node, dict):
        node["verified"] = "verified"
    else:
        node.append(node[rng.randrange(len(node))])


def _move(node: Any, rng: random.Random) -> None:
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    one, two = rng.choice(keys), rng.choice(keys)
    node[one], node[two] = node[two], node[one]


def _other(value: Any, rng: random.Random) -> Any:
    """Return another value, mostly of the same type."""
    if isinstance(value, bytes):
        data = bytearray(value or b"x")
        data[rng.randrange(len(data))] ^= 1
        return bytes(data)
    choices: list[Any] = [None, 1, "x", 500.0, [], {}]
    if isinstance(value, bool):
        choices = [not value]
    elif isinstance(value, int | float):
        choices = [value + 1, -value, value * 10, 0, 1 if value == 0 else value / 2]
    elif isinstance(value, str) and value:
        index = rng.randrange(len(value))
        letter = rng.choice("0123456789abcdef")
        choices = [value[:index] + letter + value[index + 1 :], value + "x", value[1:]]
    return rng.choice(choices)
