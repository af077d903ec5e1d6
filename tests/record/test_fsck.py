from __future__ import annotations

import os

import pytest

from ludus.errors import RecordDamaged
from ludus.record import Run, fsck, read_run
from tests.record.forging import SUBJECT, append, columns, small_run


def left_open(path):
    run = Run.create(path, kind="test", subject=SUBJECT)
    run.append_block(columns(5))
    run.append("note", {})
    run._journal.release()
    return path


def content(path):
    return {item: item.read_bytes() for item in sorted(path.rglob("*")) if item.is_file()}


def test_a_run_never_closed_is_no_problem(tmp_path):
    report = fsck(left_open(tmp_path / "run"))
    assert (report.ok, report.outcome, report.events, report.rows) == (True, None, 3, 5)


def test_checking_changes_nothing(tmp_path):
    path = left_open(tmp_path / "run")
    append(path / "events.jsonl", b"torn")
    before = content(path)
    assert not fsck(path).ok
    assert content(path) == before


@pytest.mark.parametrize("closed", [False, True])
def test_repairing_cuts_what_is_torn_and_nothing_else(tmp_path, closed):
    path = small_run(tmp_path / "run") if closed else left_open(tmp_path / "run")
    good = content(path)
    append(path / "events.jsonl", b'{"data":')
    append(path / "blocks.bin", b"x" * 99)
    report = fsck(path, repair=True)
    assert (report.ok, report.repaired) == (True, True)
    assert (report.torn_events, report.torn_blocks) == (8, 99)
    assert content(path) == good
    again = fsck(path, repair=True)
    assert (again.ok, again.repaired) == (True, False)


def test_nothing_is_cut_where_something_else_is_wrong(tmp_path):
    path = small_run(tmp_path / "run")
    append(path / "blocks.bin", b"x")
    (path / "extra" / "notes.txt").unlink()
    before = content(path)
    report = fsck(path, repair=True)
    assert sorted(problem.repairable for problem in report.problems) == [False, True]
    assert not report.repaired
    assert content(path) == before


def test_every_broken_block_is_named(tmp_path):
    path = small_run(tmp_path / "run")
    blocks = bytearray((path / "blocks.bin").read_bytes())
    offsets = [event.data["offset"] for event in read_run(path).events if event.kind == "block"]
    for offset in offsets:
        blocks[offset + 3] ^= 1
    (path / "blocks.bin").write_bytes(blocks)
    problems = fsck(path).problems
    assert [(problem.file, problem.position) for problem in problems] == [
        ("blocks.bin", offset) for offset in offsets
    ]


@pytest.mark.parametrize("name", ["events.jsonl", "blocks.bin"])
def test_missing_files_are_named(tmp_path, name):
    path = small_run(tmp_path / "run")
    (path / name).unlink()
    report = fsck(path, repair=True)
    assert report.problems[0].file == name
    assert not (path / name).exists()


def test_events_that_are_gone_are_damage_if_there_are_blocks(tmp_path):
    path = small_run(tmp_path / "run")
    before = (path / "blocks.bin").read_bytes()
    os.truncate(path / "events.jsonl", 0)
    assert fsck(path, repair=True).problems[0].file == "events.jsonl"
    with pytest.raises(RecordDamaged, match="empty"):
        Run.resume(path)
    assert (path / "blocks.bin").read_bytes() == before


def test_a_run_stopped_before_it_began_is_said_and_resumed(tmp_path):
    path = small_run(tmp_path / "run")
    for name in ("events.jsonl", "blocks.bin"):
        os.truncate(path / name, 0)
    assert "before its first event" in fsck(path).problems[0].message
    Run.resume(path).close()
    assert fsck(path).ok


def test_strangers_in_the_folder_are_listed(tmp_path):
    path = small_run(tmp_path / "run")
    (path / "stranger").touch()
    (path / "folder").mkdir()
    report = fsck(path)
    assert (report.ok, report.unlisted) == (True, ("folder", "stranger"))


def test_a_file_of_another_size_is_not_read(tmp_path):
    path = small_run(tmp_path / "run")
    os.truncate(path / "extra" / "notes.txt", 2**40)
    assert "bytes" in fsck(path).problems[0].message


def test_a_run_that_grows_meanwhile_is_no_problem(tmp_path, monkeypatch):
    from ludus.record.run import fsck as module

    run = Run.create(tmp_path / "run", kind="test", subject=SUBJECT)
    run.append_block(columns(3))
    scan = module.scan_events

    def grow(*arguments):
        run.append_block(columns(4))
        return scan(*arguments)

    monkeypatch.setattr(module, "scan_events", grow)
    report = fsck(tmp_path / "run")
    assert (report.ok, report.being_written, report.rows) == (True, True, 7)
    run.close()
