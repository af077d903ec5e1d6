"""Run folders made by an enemy: errors that say where, no hang, no more memory than allowed."""

from __future__ import annotations

import hashlib
import os
import tracemalloc

import numpy as np
import pytest

from ludus.errors import RecordDamaged, RecordError
from ludus.record import Run, fsck, read_run
from ludus.record.format import canonical
from ludus.record.format.limits import MAX_BLOCK_BYTES, MAX_LINE_BYTES
from tests.record.forging import SUBJECT, block_of, column, forge, small_run, vouch

MOST_MEMORY = 64 * 2**20


@pytest.fixture(autouse=True)
def bounded_memory():
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY


def read_everything(path):
    reader = read_run(path)
    for event in reader.events:
        if event.kind == "block":
            block = reader.block(event)
            for name in block:
                block[name]
    return reader.rows


def refused(path, file, words=None):
    """Assert that the folder is read by nobody, and that nobody writes to it."""
    before = {item: item.lstat().st_size for item in path.rglob("*")}
    with pytest.raises(RecordDamaged, match=words) as caught:
        read_everything(path)
    assert caught.value.file == file
    assert file in str(caught.value)
    report = fsck(path, repair=True)
    assert not report.ok
    assert not any(problem.repairable for problem in report.problems)
    with pytest.raises(RecordDamaged):
        Run.resume(path)
    after = {item: item.lstat().st_size for item in path.rglob("*")}
    assert {item: after[item] for item in before} == before
    return caught.value


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (b"x" * (MAX_LINE_BYTES + 1), "more than"),
        (b"[" * 10**5 + b"\n", "nested"),
        (b'{"a":' * 10**5 + b"\n", "nested"),
        (b"[" + b"[]," * 10**6 + b"[]]\n", "more than 100000 lists"),
        (b"[" + b"[]," * 10**4 + b"[]]\n", "fields"),
        (b"\0" * 100 + b"\n", "JSON"),
        (b"\n", "JSON"),
        (b"9" * 10**6 + b"\n", "JSON"),
        (b'{"n":1}\n', "fields"),
        (b'{"$codec":"3////////w=="}\n', "decode"),
        (b'{"$codec":"yP///////////w=="}\n', "decode"),
    ],
)
def test_lines_that_are_no_events(tmp_path, lines, words):
    path = forge(tmp_path / "run", [("note", {})])
    with (path / "events.jsonl").open("ab") as file:
        file.write(lines)
    assert refused(path, "events.jsonl", words).position == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 7},
        {"n": -1},
        {"n": True},
        {"n": 1.0},
        {"kind": 1},
        {"kind": "Note"},
        {"time": "now"},
        {"data": []},
        {"data": "x"},
        {"previous": "0" * 64},
        {"previous": "0"},
        {"more": 1},
    ],
)
def test_events_with_wrong_fields_and_a_right_hash(tmp_path, changes):
    path = forge(tmp_path / "run", [])
    event = next(read_run(path).events)
    raw = {"n": 1, "kind": "note", "time": event.time, "data": {}, "previous": event.hash}
    raw |= changes
    raw["hash"] = hashlib.sha256(canonical.dumps(raw)).hexdigest()
    with (path / "events.jsonl").open("ab") as file:
        file.write(canonical.dumps(raw) + b"\n")
    assert refused(path, "events.jsonl").position == 2


GOOD = block_of({"rows": 4, "columns": [column()]}, b"\1\2\3\4")


def test_the_good_one_is_read(tmp_path):
    path = forge(tmp_path / "run", [vouch(GOOD, 4)], GOOD)
    assert read_everything(path) == 4
    assert fsck(path).ok


@pytest.mark.parametrize(
    "events",
    [
        [vouch(GOOD, 4, offset=64)],
        [vouch(GOOD, 4, offset=-64)],
        [vouch(GOOD, 4, offset=2**70)],
        [vouch(GOOD, 4, first_row=1)],
        [vouch(GOOD, 4, length=0)],
        [vouch(GOOD, 4, length=-1)],
        [vouch(GOOD, 4, length=MAX_BLOCK_BYTES + 1)],
        [vouch(GOOD, 4, rows=0)],
        [vouch(GOOD, 4, rows=1.5)],
        [vouch(GOOD, 4, rows=True)],
        [vouch(GOOD, 4, sha256="x")],
        [vouch(GOOD, 4, more=1)],
        [("block", {})],
        [vouch(GOOD, 4), vouch(GOOD, 4)],  # Overlapping.
        [vouch(GOOD, 4), vouch(GOOD, 4, first_row=4, offset=len(GOOD) - 64)],
        [("open", {})],
        [("close", {})],
        [("close", {"rows": 1, "outcome": "complete"})],
        [("close", {"rows": False, "outcome": "complete"})],
        [("close", {"rows": 0, "outcome": "fine"})],
        [("close", {"rows": 0, "outcome": ["complete"]})],
        [("close", {"rows": 0, "outcome": "complete"}), ("note", {})],
        [("close", {"rows": 0, "outcome": "complete"}), ("resume", {})],
        [("close", {"rows": 0, "outcome": "interrupted"}), ("note", {})],
        [("file", {"path": "/etc/passwd", "sha256": "0" * 64, "bytes": 1})],
        [("file", {"path": "../x", "sha256": "0" * 64, "bytes": 1})],
        [("file", {"path": "a/../../x", "sha256": "0" * 64, "bytes": 1})],
        [("file", {"path": "manifest.json", "sha256": "0" * 64, "bytes": 1})],
        [("file", {"path": ["x"], "sha256": "0" * 64, "bytes": 1})],
        [("file", {"path": "x", "sha256": 0, "bytes": 1})],
        [("file", {"path": "x", "sha256": "0" * 64, "bytes": -1})],
        [("file", {"path": "x", "sha256": "0" * 64, "bytes": 2**60})],
    ],
)
def test_events_that_lie(tmp_path, events):
    path = forge(tmp_path / "run", events, GOOD)
    assert refused(path, "events.jsonl").position == len(events) + 1


def table(**changes):
    return {"rows": 4, "columns": [column(**changes)]}


def two(**changes):
    return {"rows": 4, "columns": [column(), column(name="y", offset=64) | changes]}


@pytest.mark.parametrize(
    "block",
    [
        b"LUDB",
        b"\0" * 64,
        block_of(table(), b"1234", header=b"LUDX\1\0\0\0\2\0\0\0"),
        block_of(table(), b"1234", header=b"LUDB\2\0\0\0\2\0\0\0"),
        block_of(table(), b"1234", header=b"LUDB\1\0\1\0\2\0\0\0"),
        block_of(table(), b"1234", header=b"LUDB\1\0\0\0\xff\xff\xff\xff"),
        block_of(table(), b"1234", header=b"LUDB\1\0\0\0\0\0\0\0"),
        block_of(b"[" * 1000),
        block_of(b'{"rows": 4}'),
        block_of([], b"1234"),
        block_of({"rows": 4, "columns": []}),
        block_of({"rows": 4, "columns": [1]}),
        block_of({"rows": 4, "columns": {}}),
        block_of({"rows": 4, "columns": [column()] * 300}),
        block_of({"rows": 3, "columns": [column()]}, b"1234"),
        block_of({"rows": True, "columns": [column()]}, b"1"),
        block_of({"rows": -4, "columns": [column()]}),
        block_of({"rows": 4.0, "columns": [column()]}, b"1234"),
        block_of(table(name=""), b"1234"),
        block_of(table(name=3), b"1234"),
        block_of(table(name="x" * 1000), b"1234"),
        block_of(table(dtype="O"), b"1234" * 8),
        block_of(table(dtype="|O"), b"1234" * 8),
        block_of(table(dtype=">f8"), b"1234" * 8),
        block_of(table(dtype=["f8"]), b"1234" * 8),
        block_of(table(encoding="zip"), b"1234"),
        block_of(table(encoding=["raw"]), b"1234"),
        block_of(table(encoding="bits"), b"1"),
        block_of(table(dtype="|b1"), b"\0\1\0\1"),
        block_of(table(dtype="|b1", encoding="constant"), b"\2"),
        block_of(table(dtype="|b1", encoding="bits", shape=[2**30]), b"1"),
        block_of(table(encoding="constant", shape=[2**28]), b"1"),
        block_of(table(encoding="constant", shape=[2**39, 0]), b""),
        block_of({"rows": 2**39, "columns": [column(encoding="constant")]}, b"1"),
        block_of(table(shape=[0, 2**39]), b""),
        block_of(table(shape=[-1]), b"1234"),
        block_of(table(shape=[2**70]), b"1234"),
        block_of(table(shape=[1] * 17), b"1234"),
        block_of(table(shape=4), b"1234"),
        block_of(table(shape=[True]), b"1234"),
        block_of(table(shape=[100]), b"1234"),
        block_of(table(offset=64), b"1234" + bytes(124)),
        block_of(table(offset=-64), b"1234"),
        block_of(table(offset=None), b"1234"),
        block_of(table(more=1), b"1234"),
        block_of(table(), b"1234" + bytes(64)),
        block_of(two(offset=0), b"1234" + bytes(124)),
        block_of(two(offset=2**60), b"1234" + bytes(124)),
        block_of(two(name="x"), b"1234" + bytes(124)),
        block_of(two(shape=[65]), b"1234" + bytes(124)),
        block_of(
            {
                "rows": 4,
                "columns": [
                    column(name=str(n), encoding="constant", shape=[2**25], offset=2**25 * n)
                    for n in range(3)
                ],
            },
            b"",
        ),
    ],
)
def test_blocks_that_lie(tmp_path, block):
    path = forge(tmp_path / "run", [vouch(block, 4)], block)
    refused(path, "blocks.bin")


def test_constant_columns_expand_no_further_than_a_block(tmp_path):
    """A few bytes may stand for a large column, which takes no memory until it is copied."""
    rows = MAX_BLOCK_BYTES // 8
    entry = column(dtype="<f8", encoding="constant")
    for count, words in ((1, None), (2, "more than")):
        entries = [entry | {"name": str(n), "offset": 64 * n} for n in range(count)]
        block = block_of({"rows": rows, "columns": entries}, bytes(64 * count))
        path = forge(tmp_path / str(count), [vouch(block, rows)], block)
        if words:
            refused(path, "blocks.bin", words)
        else:
            assert read_everything(path) == rows


def test_many_small_events_are_read_one_at_a_time(tmp_path):
    path = forge(tmp_path / "run", [("note", {"x": "y" * 10_000})] * 1000)
    tracemalloc.reset_peak()
    start = tracemalloc.get_traced_memory()[0]
    assert read_everything(path) == 0
    assert tracemalloc.get_traced_memory()[1] - start < 8 * 2**20


NAMES = ["manifest.json", "events.jsonl", "blocks.bin", "signature.json", "extra/notes.txt"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["link", "dangling", "pipe", "folder", "device"])
def test_what_is_no_file_is_neither_followed_nor_waited_for(tmp_path, name, what):
    path = small_run(tmp_path / "run")
    outside = tmp_path / "outside"
    file = path / name
    if file.exists():
        file.rename(outside)
    else:
        outside.write_bytes(b"{}\n")
    if what == "link":
        file.symlink_to(outside)
    elif what == "dangling":
        file.symlink_to(tmp_path / "nothing")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")
    before = outside.read_bytes()
    report = fsck(path, repair=True)
    assert any(problem.file == name and not problem.repairable for problem in report.problems)
    if name in NAMES[:3]:
        with pytest.raises(RecordDamaged, match="regular file"):
            read_everything(path)
        with pytest.raises(RecordDamaged, match="regular file"):
            Run.resume(path)
    assert outside.read_bytes() == before
    assert not (tmp_path / "nothing").exists()


def test_a_folder_behind_a_link_is_not_followed(tmp_path):
    path = small_run(tmp_path / "run")
    (path / "extra").rename(tmp_path / "elsewhere")
    (path / "extra").symlink_to(tmp_path / "elsewhere")
    assert "regular file" in fsck(path).problems[0].message


def test_nothing_is_written_through_links_of_a_folder(tmp_path):
    run = Run.create(tmp_path / "run", kind="test", subject=SUBJECT)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "run" / "a.draft").symlink_to(victim)
    (tmp_path / "run" / "sub").symlink_to(tmp_path)
    os.link(victim, tmp_path / "run" / "b.draft")
    run.add_file("a", b"new")
    run.add_file("b", b"new")
    with pytest.raises(RecordError):
        run.add_file("sub/victim", b"new")
    run.close()
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["events.jsonl", "blocks.bin"])
def test_a_file_with_a_second_name_is_not_cut(tmp_path, name):
    path = forge(tmp_path / "run", [])
    (path / name).unlink()
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    os.link(victim, path / name)
    with pytest.raises(RecordDamaged, match="hard link"):
        Run.resume(path)
    with pytest.raises(RecordDamaged, match="hard link"):
        fsck(path, repair=True)
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}\n",
        b"[]\n",
        b'{"a":1}',
        b"x" * (MAX_LINE_BYTES + 1),
        b"[" * 10**6 + b"\n",
        b'{"format":"ludus.run","version":2}\n',
        b'{"format":"ludus.run","version":1}\n',
        b'{"created":"","format":"ludus.run","id":"","kind":"x","subject":[],"version":1}\n',
        b'{"created":"","format":"ludus.run","id":"","kind":1,"subject":{},"version":1}\n',
    ],
)
def test_manifests_that_are_none(tmp_path, content):
    path = forge(tmp_path / "run", [], manifest=content)
    if not content:
        (path / "manifest.json").write_bytes(b"")
    refused(path, "manifest.json")


def test_a_sparse_file_takes_no_time(tmp_path):
    path = forge(tmp_path / "run", [])
    os.truncate(path / "events.jsonl", 2**40)
    refused(path, "events.jsonl", "more than")
    path = forge(tmp_path / "other", [])
    os.truncate(path / "blocks.bin", 2**40)
    assert read_everything(path) == 0
    assert fsck(path).torn_blocks == 2**40


def test_arrays_in_events_are_bounded_by_the_line(tmp_path):
    path = forge(tmp_path / "run", [("note", {"x": np.zeros(10**5)})])
    assert list(read_run(path).events)[1].data["x"].shape == (10**5,)
