from __future__ import annotations

import os

import numpy as np
import pytest

from ludus.errors import RecordDamaged, RecordError, RecordLocked
from ludus.record import Run, fsck, read_run
from ludus.record.run import journal
from tests.record.forging import SUBJECT, append, columns, lines_of, small_run


def create(path, **options):
    return Run.create(path, kind="test", subject=SUBJECT, **options)


def kinds(path):
    return [event.kind for event in read_run(path).events]


def test_a_run_from_beginning_to_end(tmp_path):
    path = small_run(tmp_path / "deep" / "run")
    reader = read_run(path)
    assert kinds(path) == ["open", "note", "block", "note", "block", "file", "close"]
    assert (reader.rows, reader.closed, reader.outcome) == (17, True, "complete")
    assert reader.signature() is None
    first, second = reader.blocks()
    assert (first["action"] == columns(10)["action"]).all()
    assert (second["terminated"] == columns(7, seed=1)["terminated"]).all()
    assert (path / "extra" / "notes.txt").read_bytes() == b"some text"
    last = list(reader.events)[-1].data
    assert (last["rows"], last["outcome"]) == (17, "complete")
    report = fsck(path)
    assert (report.ok, report.events, report.rows, report.unlisted) == (True, 7, 17, ())


def test_a_block_can_be_read_by_its_event(tmp_path):
    reader = read_run(small_run(tmp_path / "run"))
    events = [event for event in reader.events if event.kind == "block"]
    assert reader.block(events[1]).first_row == 10


def test_an_exception_closes_it_as_interrupted_and_it_can_go_on(tmp_path):
    def fail():
        with create(tmp_path / "run") as run:
            run.append("note", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert read_run(tmp_path / "run").outcome == "interrupted"
    with Run.resume(tmp_path / "run") as run:
        run.append_block(columns(4))
    assert kinds(tmp_path / "run") == ["open", "note", "close", "resume", "block", "close"]
    assert read_run(tmp_path / "run").outcome == "complete"
    assert fsck(tmp_path / "run").ok


def test_a_complete_run_is_not_resumed(tmp_path):
    path = small_run(tmp_path / "run")
    before = (path / "events.jsonl").read_bytes()
    with pytest.raises(RecordError, match="complete"):
        Run.resume(path)
    assert (path / "events.jsonl").read_bytes() == before


def test_a_closed_run_takes_nothing_more(tmp_path):
    run = create(tmp_path / "run")
    run.close("interrupted", reason="because")
    run.close()
    for call in (lambda: run.append("note", {}), lambda: run.append_block(columns(1)), run.sync):
        with pytest.raises(RecordError, match="closed"):
            call()
    assert lines_of(tmp_path / "run")[-1]["data"]["reason"] == "because"


@pytest.mark.parametrize(("outcome", "data"), [("done", {}), ("complete", {"rows": 3})])
def test_closing_is_either_complete_or_interrupted(tmp_path, outcome, data):
    with create(tmp_path / "run") as run, pytest.raises(RecordError, match="closed as"):
        run.close(outcome, **data)
    assert read_run(tmp_path / "run").outcome == "complete"


def test_a_torn_end_is_cut_on_resuming(tmp_path):
    path = tmp_path / "run"
    run = create(path)
    run.append_block(columns(5))
    run._journal.release()
    append(path / "events.jsonl", b'{"data":{"half')
    append(path / "blocks.bin", b"LUDB" * 100)
    report = fsck(path)
    assert [problem.repairable for problem in report.problems] == [True, True]
    assert (report.torn_events, report.torn_blocks) == (14, 400)
    assert read_run(path).events_count == 2
    with Run.resume(path) as run:
        assert (run.rows, run.events_count) == (5, 3)
        run.append_block(columns(2))
    resumed = lines_of(path)[2]
    assert resumed["kind"] == "resume"
    assert resumed["data"] == {"cut_bytes": 14, "cut_block_bytes": 400, "cut_events": 0}
    assert (fsck(path).ok, read_run(path).rows) == (True, 7)


def test_events_about_blocks_that_a_power_cut_took_are_cut(tmp_path):
    path = tmp_path / "run"
    run = create(path)
    run.append_block(columns(5), sync=True)
    end = (path / "blocks.bin").stat().st_size
    run.append("note", {})
    for _ in range(3):
        run.append_block(columns(5))
    run._journal.release()
    os.truncate(path / "blocks.bin", end + 10)
    assert fsck(path).problems[0].repairable
    with Run.resume(path) as run:
        assert run.rows == 5
    assert kinds(path) == ["open", "block", "note", "resume", "close"]
    assert lines_of(path)[3]["data"]["cut_events"] == 3


def test_blocks_missing_before_something_flushed_are_damage(tmp_path):
    path = tmp_path / "run"
    run = create(path)
    run.append_block(columns(5))
    run.add_file("a", b"")
    run._journal.release()
    os.truncate(path / "blocks.bin", 10)
    with pytest.raises(RecordDamaged) as caught:
        Run.resume(path)
    assert (caught.value.file, caught.value.position) == ("blocks.bin", 10)


def test_a_damaged_run_is_not_resumed_and_not_touched(tmp_path):
    path = tmp_path / "run"
    run = create(path)
    run.append_block(columns(5))
    run._journal.release()
    content = bytearray((path / "blocks.bin").read_bytes())
    content[100] ^= 1
    (path / "blocks.bin").write_bytes(content)
    before = (path / "events.jsonl").read_bytes()
    with pytest.raises(RecordDamaged, match=r"blocks.bin byte 0"):
        Run.resume(path)
    assert (path / "events.jsonl").read_bytes() == before


def test_there_is_one_writer(tmp_path):
    run = create(tmp_path / "run")
    for call in (
        lambda: Run.resume(tmp_path / "run"),
        lambda: fsck(tmp_path / "run", repair=True),
    ):
        with pytest.raises(RecordLocked, match="another process"):
            call()
    with pytest.raises(RecordError, match="already"):
        create(tmp_path / "run")
    assert fsck(tmp_path / "run").being_written
    run.append("note", {})
    run.close()
    assert not fsck(tmp_path / "run").being_written


def test_a_fork_does_not_write(tmp_path):
    with create(tmp_path / "run") as run:
        child = os.fork()
        if not child:
            try:
                run.append("note", {})
            except RecordError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        run.append("note", {})
    assert kinds(tmp_path / "run") == ["open", "note", "close"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("manifest.json", b"{}", "already"),
        ("something", b"", "not empty"),
        ("events.jsonl", b"{}", "not empty"),
    ],
)
def test_a_run_begins_in_a_folder_of_its_own(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordError, match=words):
        create(tmp_path)
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [(name, content)]


def test_what_a_killed_creation_left_is_no_obstacle(tmp_path):
    (tmp_path / "events.jsonl").touch()
    (tmp_path / "manifest.json.draft").write_bytes(b"half")
    create(tmp_path).close()
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        "blocks.bin",
        "events.jsonl",
        "manifest.json",
    ]


@pytest.mark.parametrize("path", ["no/such/folder", "file"])
def test_no_folder_no_run(tmp_path, path):
    (tmp_path / "file").touch()
    for call in (read_run, Run.resume, fsck):
        with pytest.raises(RecordError, match="no run folder"):
            call(tmp_path / path)
    (tmp_path / "empty").mkdir()
    for call in (read_run, Run.resume, fsck):
        with pytest.raises(RecordError, match=r"no manifest\.json"):
            call(tmp_path / "empty")


@pytest.mark.parametrize(
    ("fields", "words"), [({"format": 1}, "format"), ({"big": "x" * 2**22}, "too large")]
)
def test_manifests_that_cannot_be(tmp_path, fields, words):
    with pytest.raises(RecordError, match=words):
        create(tmp_path / "run", **fields)
    assert not (tmp_path / "run").exists()


def test_files_are_copied_and_vouched_for(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"x" * 3_000_000)
    with create(tmp_path / "run") as run:
        run.add_file("videos/one.mp4", source)
        (tmp_path / "run" / "videos" / "two.mp4").write_bytes(b"made in place")
        event = run.add_file("videos/two.mp4")
        assert event.data["bytes"] == 13
        with pytest.raises(RecordError, match="another name"):
            run.add_file("videos/one.mp4", b"")
        with pytest.raises(RecordError, match="No such file"):
            run.add_file("three", tmp_path / "missing")
        with pytest.raises(RecordError, match="no file 'three'"):
            run.add_file("three")
    assert fsck(tmp_path / "run").ok
    (tmp_path / "run" / "videos" / "two.mp4").write_bytes(b"made in Place")
    (tmp_path / "run" / "videos" / "one.mp4").unlink()
    messages = [problem.message for problem in fsck(tmp_path / "run").problems]
    assert ["missing" in messages[0], "hash" in messages[1], len(messages)] == [True, True, 2]


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "/etc/x",
        "a//b",
        "a/",
        "a\0b",
        "a\nb",
        "a\\b",
        "manifest.json",
        "blocks.bin",
        "x.draft",
        "blocks.bin/x",
        "é" * 121,
        "/".join("a" * 9),
        None,
    ],
)
def test_names_of_files_stay_inside(tmp_path, name):
    with create(tmp_path / "run") as run, pytest.raises(RecordError, match="The name"):
        run.add_file(name, b"")


def test_resuming_knows_the_files(tmp_path):
    run = create(tmp_path / "run")
    run.add_file("a", b"1")
    run._journal.release()
    with Run.resume(tmp_path / "run") as run, pytest.raises(RecordError, match="another name"):
        run.add_file("a", b"2")


def test_memory_stays_flat_over_many_blocks(tmp_path):
    import tracemalloc

    block = {"x": np.random.default_rng(0).random((2000, 64))}  # One megabyte.
    with create(tmp_path / "run") as run:
        for _ in range(30):
            run.append_block(block)
    tracemalloc.start()
    total = sum(float(block["x"].sum()) for block in read_run(tmp_path / "run").blocks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total > 0
    assert peak < 8_000_000


def test_what_was_torn_between_opening_and_locking_is_cut_too(tmp_path, monkeypatch):
    path = tmp_path / "run"
    create(path)._journal.release()
    lock = journal.lock

    def tear_first(events, where):
        append(path / "events.jsonl", b"x" * 5000)
        lock(events, where)

    monkeypatch.setattr(journal, "lock", tear_first)
    Run.resume(path).close()
    assert kinds(path) == ["open", "resume", "close"]
    assert fsck(path).ok
