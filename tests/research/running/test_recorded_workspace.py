"""Whole outputs, changes of the workspace and partial output in records of episodes."""

from __future__ import annotations

import hashlib
import os
import threading
import time

import pytest

from ludus.bench import RunSettings
from ludus.record import fsck, read_run, verify
from ludus.research.episode.workspace_changes import LARGEST_TEXT, Changes, Listing
from ludus.research.running import job as job_module
from ludus.research.running import resume_research
from ludus.research.running.log import Log
from ludus.research.running.partial_output import PARTIAL, PartialOutput
from ludus.research.running.trajectory import trajectory_of_run
from tests.research.grading.support import boxed
from tests.research.running.support import (
    answers,
    fake_grade,
    in_child,
    record_of,
    set_answer,
    start,
    told,
    write_script,
)

pytestmark = boxed

SERIAL = RunSettings(engine="serial", backoff=0.01)


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Play a script of actions, and return the record and its steps."""
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    task = answers(tmp_path)

    def played(actions, name="run", **fields):
        script = write_script(tmp_path / f"{name}.yaml", [*actions, set_answer(0.9), "submit"])
        options = {"agent_options": {"file": script}, **fields}
        done = start(task, "scripted", tmp_path / name, **options)
        assert done.exit_code == 0
        assert done.results[0].score == 0.8
        record = record_of(tmp_path / name)
        assert fsck(record).ok
        assert not fsck(record).unlisted
        return record, steps_of(record)

    return played


def steps_of(record) -> list:
    return [event.data for event in read_run(record).events if event.kind == "step"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def kept(record, name: str) -> bytes | None:
    path = record / "artefacts" / name
    return path.read_bytes() if path.exists() else None


def test_an_output_that_an_event_has_room_for_has_no_file(play):
    record, steps = play(["seq 100"])
    assert steps[0]["output"].endswith("\n100\n")
    assert "output_file" not in steps[0]
    assert not (record / "outputs").exists()


def test_an_output_that_the_agent_saw_whole_is_kept_as_it_saw_it(play):
    record, steps = play(["head -c 40000 /dev/zero | tr '\\0' x; echo; printf '\\377 ä'"])
    step = steps[0]
    assert step["output_file"] == "outputs/0.txt"
    content = (record / "outputs" / "0.txt").read_bytes()
    assert content == b"x" * 40_000 + b"\n" + "\N{REPLACEMENT CHARACTER} ä".encode()
    assert (digest(content), len(content.decode())) == (step["digest"], step["characters"])
    assert step["head"] == "x" * len(step["head"])
    assert "printed" not in step
    first = trajectory_of_run(record).steps[0]
    assert (first.output, first.is_whole) == (content.decode(), True)


def test_an_output_of_which_the_agent_saw_a_part_is_kept_as_it_was_printed(play):
    record, steps = play(["seq 500000; printf '\\377'"])
    content = "".join(f"{n}\n" for n in range(1, 500_001)).encode() + b"\xff"
    assert steps[0]["output_file"] == "outputs/0.txt"
    assert steps[0]["printed"] == len(content)
    assert (record / "outputs" / "0.txt").read_bytes() == content
    assert not trajectory_of_run(record).steps[0].is_whole
    assert verify(record)["files"].status == "passed"


def test_a_changed_output_is_found(play):
    record, _ = play(["seq 500000"])
    path = record / "outputs" / "0.txt"
    path.write_bytes(path.read_bytes().replace(b"77\n", b"78\n", 1))
    assert not fsck(record).ok


def test_what_each_step_changes(play):
    actions = [
        "mkdir src; echo one > src/a.txt; head -c 300000 /dev/urandom > big"
        "; printf 'a\\0b' > binary",
        "true",
        "echo two >> src/a.txt; rm binary; ln -s src/a.txt link; chmod +x big",
        "echo no > /tmp/elsewhere",
    ]
    record, steps = play(actions)
    one, two = b"one\n", b"one\ntwo\n"
    big, binary, new = steps[0]["changes"]
    assert [big["path"], binary["path"], new["path"]] == ["big", "binary", "src/a.txt"]
    assert new == {
        "path": "src/a.txt",
        "status": "added",
        "before": "",
        "after": digest(one),
        "bytes": 4,
    }
    assert (big["status"], big["bytes"]) == ("added", 300_000)
    assert steps[1]["changes"] == []
    gone, link, longer = steps[2]["changes"]
    assert (gone["path"], gone["status"], gone["after"], gone["bytes"]) == (
        "binary",
        "deleted",
        "",
        3,
    )
    assert (link["path"], link["after"]) == ("link", digest(b"src/a.txt"))
    assert (longer["status"], longer["before"], longer["after"]) == (
        "modified",
        digest(one),
        digest(two),
    )
    assert steps[3]["changes"] == []
    # The episode ends with the last step, and no checkpoint is made of it.
    assert "changes" not in steps[-1]
    assert kept(record, digest(one)) == one
    assert kept(record, digest(two)) == two
    assert kept(record, digest(b"src/a.txt")) == b"src/a.txt"
    assert kept(record, big["after"]) is None
    assert kept(record, binary["after"]) is None


def test_the_first_workspace_and_the_contents_that_a_step_replaces(play):
    record, steps = play(["ls", "echo gone > train.csv", "rm train.csv"])
    (tree,) = [event for event in read_run(record).events if event.kind == "tree"]
    (act, *_) = [event for event in read_run(record).events if event.kind == "act"]
    assert tree.n < act.n
    rows = {row["path"]: row for row in tree.data["files"]}
    assert sorted(rows) == sorted(steps[0]["output"].split())
    for row in rows.values():
        assert set(row) == {"path", "bytes", "sha256"}
    changed = {row["path"]: row for row in steps[1]["changes"]}
    for path, row in changed.items():
        if path in rows:
            assert row["before"] == rows[path]["sha256"]
            assert len(kept(record, row["before"])) == rows[path]["bytes"]
    assert changed["train.csv"]["after"] == digest(b"gone\n")
    (gone,) = steps[2]["changes"]
    assert (gone["status"], gone["before"]) == ("deleted", digest(b"gone\n"))


def test_a_submitted_file_that_is_a_recorded_change_as_well(play):
    """Both are one file of the record, whichever came first."""
    record, steps = play([f"{set_answer(0.7)}; validate", set_answer(0.8), "validate"])
    assert [row["path"] for row in steps[1]["changes"]] == ["answer.json"]
    graded = steps[2]["graded"]["files"]["answer.json"]
    assert graded == steps[1]["changes"][0]["after"]
    assert kept(record, graded) == b'{"answer": 0.8}\n'


def test_partial_output_is_there_while_a_command_runs_and_gone_afterwards(play, tmp_path):
    seen, stop = [], threading.Event()

    def look():
        while not stop.wait(0.02):
            for path in (tmp_path / "run" / "records").glob(f"*/{PARTIAL}"):
                try:
                    seen.append(path.read_bytes())
                except OSError:
                    continue

    watching = threading.Thread(target=look)
    watching.start()
    try:
        record, steps = play(["for n in 1 2 3 4 5; do echo $n; sleep 0.3; done", "true"])
    finally:
        stop.set()
        watching.join()
    assert b"1\n2\n3\n" in seen
    loop = [one for one in seen if one.startswith(b"1")]
    assert all(b"1\n2\n3\n4\n5\n".startswith(one) for one in loop)
    assert steps[0]["output"] == "1\n2\n3\n4\n5\n"
    assert not (record / PARTIAL).exists()


def test_killed_while_a_command_prints(play, tmp_path):
    """The record is whole, the episode goes on, and what was left is removed."""
    actions = ["echo first > one", "seq 100000; sleep 5", set_answer(0.9), "submit"]
    script = write_script(tmp_path / "killed.yaml", actions)
    out = tmp_path / "killed"

    def work():
        def watch():
            while not list((out / "records").glob(f"*/{PARTIAL}")):
                time.sleep(0.01)
            os.kill(os.getpid(), 9)

        threading.Thread(target=watch, daemon=True).start()
        start(answers(tmp_path / "t"), "scripted", out, agent_options={"file": script})

    assert in_child(work) == -9
    record = record_of(out)
    assert (record / PARTIAL).exists()
    report = fsck(record)
    assert report.ok
    assert report.unlisted == (PARTIAL,)
    checks = {check.name: check.status for check in verify(record).checks}
    assert checks["chain"] == checks["files"] == "passed"
    done = resume_research(out, settings=SERIAL)
    assert done.exit_code == 0
    assert not (record / PARTIAL).exists()
    steps = steps_of(record)
    assert [row["path"] for row in steps[0]["changes"]] == ["one"]
    assert steps[1]["output_file"] == "outputs/1.txt"
    assert fsck(record).ok


def test_killed_between_an_output_and_its_step(play, tmp_path, monkeypatch):
    """The file is there already when the step is done again."""
    actions = ["seq 100000", "seq 5000; date +%N > now; cat now"]
    calm, _ = play(actions, "calm")
    real = Log._append

    def deadly(self, kind, data):
        if kind == "step" and "output_file" in data:
            os.kill(os.getpid(), 9)
        return real(self, kind, data)

    script = write_script(tmp_path / "k.yaml", [*actions, set_answer(0.9), "submit"])
    out = tmp_path / "killed"

    def work():
        monkeypatch.setattr(Log, "_append", deadly)
        task = str(tmp_path / "answers")
        start(task, "scripted", out, agent_options={"file": script})

    assert in_child(work) == -9
    done = resume_research(out, settings=SERIAL)
    assert done.exit_code == 0
    record = record_of(out)
    same, other = steps_of(record)[:2]
    assert same["output_file"] == "outputs/0.txt"
    assert told(record)[:5] == told(calm)[:5]
    assert "output_file" in other
    assert fsck(record).ok


@pytest.mark.parametrize("folder", ["artefacts", "outputs"])
def test_files_that_a_power_cut_has_lost(tmp_path, monkeypatch, folder):
    """The record says something that is not there any more: the episode begins anew."""
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    actions = ["echo x > x; seq 10000", "kill", set_answer(0.9), "submit"]
    script = write_script(tmp_path / "s.yaml", actions)
    out = tmp_path / "run"
    real = Log.act

    def deadly(self, data):
        if data.get("action") == "kill":
            os.kill(os.getpid(), 9)
        return real(self, data)

    def work():
        monkeypatch.setattr(Log, "act", deadly)
        start(answers(tmp_path), "scripted", out, agent_options={"file": script})

    assert in_child(work) == -9
    (file,) = (record_of(out) / folder).iterdir()
    os.truncate(file, 0)
    done = resume_research(out, settings=SERIAL)
    assert (done.exit_code, done.results[0].lives) == (0, 2)
    (left,) = (out / "abandoned").iterdir()
    assert "1 files of its record were lost" in (left / "why.txt").read_text()
    assert fsck(record_of(out)).ok


def test_an_output_that_comes_out_otherwise_the_second_time_has_another_name(tmp_path):
    subject = {"unit": {"id": "u"}}
    for outputs in ("a",), ("a", "b", "b"):
        log = Log.open(tmp_path / "r", subject, None)
        paths = [log._output_file(letter * 20_000, None) for letter in outputs]
        log.__exit__(RuntimeError)  # interrupted, as by a kill
    assert paths == ["outputs/0.txt", "outputs/0-1.txt", "outputs/0-1.txt"]
    assert fsck(tmp_path / "r").ok


def test_partial_output_is_bounded_and_survives_a_disk_that_fails(tmp_path):
    with PartialOutput(tmp_path) as printed:
        printed.begin(5)
        for piece in (b"abc", b"def", b"ghi"):
            printed.write(piece)
        assert (printed.printed, printed.kept) == (9, 5)
        assert printed.path.read_bytes() == b"abcde"
        printed.end()
        assert not printed.path.exists()
        printed.path.mkdir()
        printed.begin(5)
        printed.write(b"abc")
        assert (printed.printed, printed.kept) == (3, 0)


def test_a_record_of_an_earlier_version_is_continued(tmp_path):
    """It has no first workspace, and gets none in its middle."""
    subject = {"unit": {"id": "u"}}
    log = Log.open(tmp_path / "r", subject, None)
    log.act({"action": "ls"})
    log.step("a\n", {"reward": 0.0})
    log.__exit__(RuntimeError)
    log = Log.open(tmp_path / "r", subject, None)
    log.tree(Listing([{"path": "a", "bytes": 1, "sha256": "0" * 64}]))
    log.act({"action": "ls"})
    changes = Changes([], texts={digest(b"1"): b"1"})
    log.step("a\n", {"reward": 0.0}, changes=changes)
    assert log.lost_files() == 0
    log.__exit__(RuntimeError)
    events = [event.kind for event in read_run(tmp_path / "r").events]
    assert events == ["open", "act", "step", "close", "resume", "act", "file", "step", "close"]
    assert ["changes" in step for step in steps_of(tmp_path / "r")] == [False, True]
    assert fsck(tmp_path / "r").ok


def test_contents_above_a_limit_are_not_kept(play):
    record, steps = play(
        [f"head -c {LARGEST_TEXT} /dev/zero | tr '\\0' a > fits; (cat fits; echo) > no"]
    )
    fits, no = steps[0]["changes"]
    assert kept(record, fits["after"]) == b"a" * LARGEST_TEXT
    assert kept(record, no["after"]) is None
    assert no["bytes"] == LARGEST_TEXT + 1
