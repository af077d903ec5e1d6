"""Nothing that was reported as written is lost, whatever call fails and whenever it is killed."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import ludus.record
from ludus.errors import RecordError
from ludus.record import Run, fsck, generate_key, read_run
from ludus.record.format.folder import Folder
from tests.record import faults
from tests.record.faults import faulty_disk
from tests.record.forging import SUBJECT, append, columns
from tests.sampling import ALL

MOMENTS = 200 if ALL else 40


def step(run, number):
    """Add the part of the plan that has this number."""
    if number == 2:
        return run.add_file("a/file", b"content")
    if number % 2:
        return run.append_block(columns(number + 1, seed=number), sync=number == 3)
    return run.append("note", {"number": number}, sync=number == 4)


STEPS = 6
PLAN = ["note", "block", "file", "block", "note", "block"]


def record(path, acknowledge, attempts, key=None):
    """Record the plan from wherever the folder is, each call tried so many times."""

    def insist(call):
        for left in reversed(range(attempts)):
            try:
                return call()
            except RecordError:
                if not left:
                    raise
        return None

    def begin():
        if (path / "manifest.json").exists():
            return Run.resume(path, key=key)
        return Run.create(path, kind="test", subject=SUBJECT, key=key)

    run = insist(begin)
    acknowledge(run.head)
    done = insist(lambda: sum(event.kind in PLAN for event in read_run(path).events))
    for number in range(done, STEPS):
        acknowledge(insist(lambda number=number: step(run, number)).hash)
    insist(run.close)
    acknowledge(run.head)


def check_complete(path, acknowledged, signed):
    reader = read_run(path)
    events = list(reader.events)
    hashes = [event.hash for event in events]
    assert [h for h in hashes if h in set(acknowledged)] == acknowledged
    assert [event.kind for event in events if event.kind in PLAN] == PLAN
    assert reader.outcome == "complete"
    for number, block in zip((1, 3, 5), reader.blocks(), strict=True):
        assert (block["action"] == columns(number + 1, seed=number)["action"]).all()
    report = fsck(path)
    assert report.problems == ()
    signature = reader.signature()
    assert (signature is not None) is signed
    if signed:
        assert signature.is_genuine()
        assert signature.covers(reader.manifest_hash, reader.head, reader.events_count)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return generate_key(tmp_path_factory.mktemp("keys") / "key")


def count_calls(path, key):
    with faulty_disk() as disk:
        record(path, [].append, 1, key)
    return disk.calls


@pytest.mark.parametrize("fault", [faults.before, faults.after, faults.partly, faults.short])
def test_every_call_may_fail_once_and_trying_again_helps(tmp_path, key, fault):
    total = count_calls(tmp_path / "count", key)
    assert total > 30
    for first in range(total):
        path, acknowledged = tmp_path / str(first), []
        with faulty_disk(fault, first):
            record(path, acknowledged.append, 2, key)
        check_complete(path, acknowledged, signed=True)
        assert not any(event.kind == "resume" for event in read_run(path).events)


@pytest.mark.parametrize("fault", [faults.before, faults.after, faults.partly, faults.short])
def test_files_that_are_added_together(tmp_path, fault):
    """All are recorded or none, and no draft stays."""
    contents = {"a/one": b"1", "a/two": b"2", "three": b"3" * 3000}

    def work(path, disk_of):
        with Run.create(path, kind="test", subject=SUBJECT) as run, disk_of() as disk:
            for _ in range(2):
                try:
                    run.add_files(contents)
                    break
                except RecordError:
                    assert run.events_count == 1
            run.sync()
        return disk.calls

    for first in range(work(tmp_path / "count", faulty_disk)):
        path = tmp_path / str(first)
        with contextlib.suppress(RecordError):  # flushing fails, and is done again when it closes
            work(path, lambda first=first: faulty_disk(fault, first))
        report = fsck(path)
        assert (report.problems, report.unlisted) == ((), ())
        files = [event.data["path"] for event in read_run(path).events if event.kind == "file"]
        assert files == [*contents]
        assert {item.name for item in path.rglob("*") if item.is_file()} >= {"one", "two", "three"}
        assert not list(path.rglob("*.draft"))


def test_files_that_are_added_together_are_flushed_before_anything_that_is(tmp_path, monkeypatch):
    flushed = []
    real = Folder.flush
    monkeypatch.setattr(
        Folder, "flush", lambda self, names: (flushed.append([*names]), real(self, names))
    )
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT) as run:
        run.add_files({"b": b"2", "a/x": b"1"})
        run.append("note", {})
        assert flushed == []
        run.append("note", {}, sync=True)
        assert flushed == [["a/x", "b"]]
        run.add_files({"c": b"3"})
        run.add_file("d", b"4")
        assert flushed[1:] == [["c"]]
        run.add_files({"e": b"5"})
    assert flushed[2:] == [["e"]]
    with Run.create(tmp_path / "other", kind="test", subject=SUBJECT) as run:
        run.add_files({"a": b"1"})
        for taken in ({"a": b"2"}, {"b": b"", "../c": b""}, {"x/y": b"", "events.jsonl": b""}):
            with pytest.raises(RecordError):
                run.add_files(taken)
        assert run.events_count == 2


@pytest.mark.parametrize("fault", [faults.before, faults.after, faults.partly])
def test_a_disk_that_goes_on_failing_loses_nothing_and_may_recover(tmp_path, key, fault):
    total = count_calls(tmp_path / "count", key)
    for first in range(total):
        path, acknowledged = tmp_path / str(first), []
        with (
            faulty_disk(fault, first, last=10**9),
            contextlib.suppress(RecordError),
            contextlib.ExitStack() as owner,
        ):
            record_leaving(path, acknowledged.append, owner, key)
        if (path / "manifest.json").exists():
            hashes = [event.hash for event in read_run(path).events]
            assert hashes[: len(acknowledged)] == acknowledged
            if read_run(path).outcome == "complete":
                continue
        record(path, acknowledged.append, 1)
        check_complete(path, acknowledged, signed=False)


def record_leaving(path, acknowledge, owner, key):
    """Record the plan; let go of the run, as a process that gives up does, when it fails."""
    run = Run.create(path, kind="test", subject=SUBJECT, key=key)
    owner.callback(run._journal.release)
    acknowledge(run.head)
    for number in range(STEPS):
        acknowledge(step(run, number).hash)
    run.close()


def in_child(path, work):
    """Run ``work(acknowledge)`` in a child; return its exit code and what it acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reading)
            work(lambda text: os.write(writing, bytes.fromhex(text)))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    return child, reading


def finish(child, reading, heard=b""):
    with os.fdopen(reading, "rb") as pipe:
        content = heard + pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    whole = len(content) // 32 * 32
    return code, [content[at : at + 32].hex() for at in range(0, whole, 32)]


@pytest.mark.parametrize("fault", [faults.die_before, faults.die_after, faults.die_partly])
def test_every_call_may_be_the_last(tmp_path, key, fault):
    total = count_calls(tmp_path / "count", key)
    for first in range(total):
        path = tmp_path / str(first)

        def work(acknowledge, path=path, first=first):
            with faulty_disk(fault, first):
                record(path, acknowledge, 1, key)

        code, acknowledged = finish(*in_child(path, work))
        assert code == 9
        complete = False
        if (path / "manifest.json").exists():
            hashes = [event.hash for event in read_run(path).events]
            assert hashes[: len(acknowledged)] == acknowledged
            assert len(hashes) <= len(acknowledged) + 2
            complete = read_run(path).outcome == "complete"
            if first % 2 and fsck(path).problems:
                assert fsck(path, repair=True).ok
        if not complete:
            record(path, acknowledged.append, 1)
            check_complete(path, acknowledged, signed=False)


def record_for_ever(path, acknowledge):
    if (path / "manifest.json").exists():
        run = Run.resume(path)
    else:
        run = Run.create(path, kind="test", subject=SUBJECT)
    acknowledge(run.head)
    large = {"x": np.arange(30_000)}
    while True:
        acknowledge(run.append("note", {"text": "x" * 100}).hash)
        acknowledge(run.append_block(large).hash)
        acknowledge(run.append_block(columns(50)).hash)
        acknowledge(run.append("note", {"row": run.rows}, sync=run.events_count % 7 == 0).hash)


def test_it_may_be_killed_at_any_moment(tmp_path):
    rng = random.Random(20)
    kills = written = 0
    while kills < MOMENTS:
        path, acknowledged = tmp_path / str(kills), []
        for _ in range(10):  # One folder is killed and resumed ten times.
            child, reading = in_child(path, lambda tell, path=path: record_for_ever(path, tell))
            # Often while it begins or resumes, else some way into it.
            heard = b"".join(os.read(reading, 32) for _ in range(rng.choice([0, 1, 3, 9])))
            time.sleep(rng.uniform(0, 0.01))
            os.kill(child, signal.SIGKILL)
            code, told = finish(child, reading, heard)
            assert code == -signal.SIGKILL
            kills += 1
            acknowledged += told
            if (path / "manifest.json").exists():
                hashes = [event.hash for event in read_run(path).events]
                assert [h for h in hashes if h in set(acknowledged)] == acknowledged
        if not (path / "manifest.json").exists():
            continue
        Run.resume(path).close()
        reader = read_run(path)
        assert set(acknowledged) <= {event.hash for event in reader.events}
        assert fsck(path).problems == ()
        assert sum(block.rows for block in reader.blocks()) == reader.rows
        written += len(acknowledged)
        (path / "blocks.bin").unlink()
    assert written > MOMENTS


def test_an_interrupt_leaves_what_was_reported(tmp_path):
    class Interrupted(BaseException):
        pass

    def interrupt(call, name, arguments, options):
        call(*arguments, **options)
        raise Interrupted

    total = count_calls(tmp_path / "count", None)
    with faulty_disk() as disk:
        Run.create(tmp_path / "start", kind="test", subject=SUBJECT).close()
    for first in range(disk.calls, total):
        path, acknowledged = tmp_path / str(first), []
        run = Run.create(path, kind="test", subject=SUBJECT)
        with faulty_disk(interrupt, first - disk.calls), contextlib.suppress(Interrupted):
            for number in range(STEPS):
                acknowledged.append(step(run, number).hash)
        for number in range(len(acknowledged), STEPS):
            acknowledged.append(step(run, number).hash)
        run.close()
        check_complete(path, acknowledged, signed=False)


def mounted(folder, options):
    """Return a small file system of its own, or skip."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"no file system may be mounted here: {problem}")
    return folder


@pytest.fixture
def small_disk(tmp_path):
    disk = mounted(tmp_path / "disk", "size=1m")
    yield disk
    subprocess.run(["umount", disk], check=True, timeout=10)


def test_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    block = {"x": np.random.default_rng(0).random(10_000)}
    run = Run.create(small_disk / "run", kind="test", subject=SUBJECT)
    acknowledged = [run.head]
    for call in (
        lambda: run.append_block(block),
        lambda: run.append("note", {"text": "x" * 2000}),
    ):
        with pytest.raises(RecordError, match=r"No space left.*Free some space"):
            acknowledged.extend(call().hash for _ in range(1000))
    rows = run.rows
    assert rows >= 50_000
    assert [event.hash for event in read_run(small_disk / "run").events] == acknowledged
    ballast.unlink()
    acknowledged.append(run.append_block(block).hash)
    run.close()
    reader = read_run(small_disk / "run")
    assert [event.hash for event in reader.events] == [*acknowledged, run.head]
    assert reader.rows == rows + 10_000
    assert fsck(small_disk / "run").ok


def test_a_full_disk_has_no_room_for_a_new_run(small_disk):
    with contextlib.suppress(OSError):
        (small_disk / "ballast").write_bytes(bytes(2**21))
    with pytest.raises(RecordError, match="No space left"):
        Run.create(small_disk / "run", kind="test", subject=SUBJECT)
    (small_disk / "ballast").unlink()
    Run.create(small_disk / "run", kind="test", subject=SUBJECT).close()


def test_a_folder_that_cannot_be_written_can_be_read(small_disk):
    run = Run.create(small_disk / "run", kind="test", subject=SUBJECT)
    run.append_block(columns(5))
    run._journal.release()
    append(small_disk / "run" / "events.jsonl", b"torn")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True, timeout=10)
    assert read_run(small_disk / "run").rows == 5
    assert [problem.repairable for problem in fsck(small_disk / "run").problems] == [True]
    for call in (
        lambda: Run.resume(small_disk / "run"),
        lambda: fsck(small_disk / "run", repair=True),
        lambda: Run.create(small_disk / "other", kind="test", subject=SUBJECT),
    ):
        with pytest.raises(RecordError, match="Read-only file system"):
            call()


def test_flushing_again_after_a_failure_writes_everything_anew(tmp_path):
    """After a failed fsync the kernel takes pages for written that are not."""
    run = Run.create(tmp_path / "run", kind="test", subject=SUBJECT)
    run.append("note", {"text": "first"})
    calls = []

    def refuse(call, name, arguments, options):
        calls.append(name)
        if name == "fsync" and calls.count("fsync") == 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return call(*arguments, **options)

    with faulty_disk(refuse, 0, 10**9):
        with pytest.raises(RecordError, match="Check the disk"):
            run.sync()
        run.sync()
    assert calls == ["fsync", "pwritev", "fsync"]
    run.close()
    assert fsck(tmp_path / "run").ok


def test_a_block_is_flushed_before_the_event_about_it_is_written(tmp_path):
    run = Run.create(tmp_path / "run", kind="test", subject=SUBJECT)
    calls = []

    def note(call, name, arguments, options):
        calls.append((name, Path(f"/proc/self/fd/{arguments[0]}").readlink().name))
        return call(*arguments, **options)

    with faulty_disk(note, 0, 10**9):
        run.append_block(columns(3), sync=True)
    run.close()
    assert calls == [
        ("pwritev", "blocks.bin"),
        ("fsync", "blocks.bin"),
        ("pwritev", "events.jsonl"),
        ("fsync", "events.jsonl"),
    ]


def test_no_other_module_touches_the_files_of_a_run():
    """What these tests let fail is everything there is."""
    places = {
        "run": ("run", "journal", "fsck", "reader"),
        "format": ("signature", "event", "block", "columns"),
    }
    touching = re.compile(r"\bos\.(?!PathLike)|(?<!folder\.)\bopen\(|\.(read|write)_(bytes|text)\(")
    for name in (f"{room}/{one}" for room, names in places.items() for one in names):
        text = (Path(ludus.record.__file__).parent / f"{name}.py").read_text()
        assert touching.search(text) is None, name
