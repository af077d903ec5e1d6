"""Outputs and workspaces that are made to harm the record of an episode, its disk or its reader."""

from __future__ import annotations

import io
import os
import resource
import signal

import pytest

from ludus.record import fsck, read_run, verify
from ludus.record.format import canonical
from ludus.record.format.limits import MAX_LINE_BYTES
from ludus.research.episode import workspace_changes
from ludus.research.episode.workspace_changes import WorkspaceChanges
from ludus.research.grading.artefacts import Artefacts
from ludus.research.running import job as job_module
from ludus.research.running import log as log_module
from ludus.research.running.log import ARTEFACTS, Log
from ludus.research.running.partial_output import PARTIAL, PartialOutput
from ludus.sandbox.transfer.snapshot import _SIZE
from tests.research.grading.support import boxed
from tests.research.running.support import (
    answers,
    fake_grade,
    in_child,
    kinds,
    record_of,
    set_answer,
    start,
    write_script,
)

pytestmark = boxed


@pytest.fixture
def play(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)

    def played(*actions):
        script = write_script(tmp_path / "s.yaml", [*actions, set_answer(0.9), "submit"])
        out = tmp_path / "run"
        done = start(answers(tmp_path), "scripted", out, agent_options={"file": script})
        (result,) = done.results
        assert (result.outcome, result.score) == ("scored", 0.8), result
        record = record_of(out)
        assert "fault" not in kinds(record)
        assert fsck(record).ok
        checks = {check.name: check.status for check in verify(record).checks}
        assert checks["chain"] == checks["files"] == checks["closed"] == "passed"
        return record, [event.data for event in read_run(record).events if event.kind == "step"]

    return played


def python(code: str) -> str:
    return f"python - <<'END'\n{code}\nEND"


def used(folder) -> int:
    return sum(path.stat().st_size for path in folder.iterdir()) if folder.exists() else 0


def test_outputs_without_end_take_a_bounded_share_of_the_disk(play, tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "OUTPUTS_BYTES", 600_000)
    monkeypatch.setattr(log_module, "LARGEST_OUTPUT", 250_000)
    monkeypatch.setattr(log_module, "_LEAST", 100_000)
    largest, real = [], PartialOutput.write

    def watched(self, piece):
        real(self, piece)
        largest.append(self.path.stat().st_size if self.path.exists() else 0)

    monkeypatch.setattr(PartialOutput, "write", watched)
    record, steps = play(*["yes | head -c 3000000"] * 6)
    assert max(largest) == 250_000
    assert 500_000 <= used(record / "outputs") <= 600_000
    named = [step.get("output_file") for step in steps[:6]]
    assert named[:2] == ["outputs/0.txt", "outputs/1.txt"]
    assert all(step["printed"] == 3_000_000 for step in steps[:6])


def test_contents_take_a_bounded_share_of_the_disk(play, monkeypatch):
    monkeypatch.setattr(log_module, "TEXTS_BYTES", 50_000)
    write = (
        "for n in $(seq 20); do seq @ $((@ + 1000)) | head -c 4000 > f@-$n; echo $n >> f@-$n; done"
    )
    record, steps = play(*[write.replace("@", str(n)) for n in range(3)])
    assert 30_000 <= used(record / ARTEFACTS) <= 60_000
    assert [len(step["changes"]) for step in steps[:3]] == [20, 20, 20]


def test_a_disk_that_is_almost_full_gets_no_more_of_it(play, monkeypatch):
    monkeypatch.setattr(log_module, "free_bytes", lambda folder: log_module._SPARE - 1)
    record, steps = play("seq 100000; echo x > x")
    assert "output_file" not in steps[0]
    assert steps[0]["printed"] > 500_000
    assert [row["path"] for row in steps[0]["changes"]] == ["x"]
    assert not (record / "outputs").exists()
    assert len(list((record / ARTEFACTS).iterdir())) == 1  # what was submitted


def test_a_disk_that_fails_costs_the_files_only(play):
    """Files of this process may not grow beyond what a record needs."""

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        record, steps = play("seq 1000000")
        assert steps[0]["printed"] > 5_000_000
        assert not (record / PARTIAL).exists()

    assert in_child(work) == 0


NAMES = """
import os
names = [b'\\xff\\xfe', b'new\\nline', b'\\x1b[31mred', '\\u202egpj.exe'.encode(), b'..\\\\up']
names += [b'<script>alert(1)</script>'.replace(b'/', b'|'), b'--help', b' ', b'a{' * 100]
for name in names:
    open(name, 'w').write(ascii(name))
os.makedirs(b'deep/' * 30 + b'x' * 250)
open(b'deep/' * 30 + b'x' * 250 + b'/' + b'y' * 250, 'w').close()
os.symlink('/etc/passwd', 'passwd')
os.symlink(b'\\xff' * 3000, 'far')
"""


def test_names_are_data(play):
    record, steps = play(python(NAMES), "rm -rf -- *")
    paths = [row["path"] for row in steps[0]["changes"]]
    assert len(paths) == 12
    assert "\\xff\\xfe" in paths
    assert "new\nline" in paths
    assert "\x1b[31mred" in paths
    assert all(len(path) <= 4_000 for path in paths)
    # A link is its target, which nobody has opened.
    (link,) = [row for row in steps[0]["changes"] if row["path"] == "passwd"]
    assert (record / ARTEFACTS / link["after"]).read_bytes() == b"/etc/passwd"
    gone = {row["path"] for row in steps[1]["changes"] if row["status"] == "deleted"}
    # The shell's star leaves out what begins with a dot.
    assert gone == {*paths, "train.csv", "answer.json"} - {"..\\up"}


def test_many_files_crowd_out_nothing_that_was_there(play):
    many = "for n in range(3000): open(f'{n:04}' + 'x' * 200, 'w').write(str(n))"
    _, steps = play(
        "mkdir -p src/deep; echo 1 > src/deep/z.py", f"echo 2 > src/deep/z.py; {python(many)}"
    )
    rows = steps[1]["changes"]
    assert [row["path"] for row in rows if row["status"] == "modified"] == ["src/deep/z.py"]
    assert 100 < len(rows) < 500
    assert len(rows) + steps[1]["changes_left_out"] == 3001


def test_more_files_than_are_compared(play, monkeypatch):
    monkeypatch.setattr(workspace_changes, "_MOST_FILES", 100)
    many = "for n in range(200): open(f'{n}', 'w').close()"
    _, steps = play(python(many), "rm ?? ???", "true", "echo x > x")
    assert ["changes" in step for step in steps[:4]] == [False, False, True, True]
    assert [row["path"] for row in steps[3]["changes"]] == ["x"]


def test_names_that_would_make_an_event_too_large_cost_the_changes_only(play, monkeypatch):
    """An event may hold 100,000 braces, in texts too; the names come on top of the output."""
    monkeypatch.setattr(workspace_changes, "_CHANGE_BYTES", 1 << 20)
    monkeypatch.setattr(workspace_changes, "_CHANGE_ROWS", 10_000)
    many = "for n in range(450): open('{' * 240 + str(n), 'w').close()"
    _, steps = play(python(many))
    assert "changes" not in steps[0]
    assert [row["path"] for row in steps[1]["changes"]] == ["answer.json"]


def test_limits_of_changes_leave_room_in_any_event():
    """The output, and names of braces only, are together below what an event may hold."""
    assert workspace_changes._CHANGE_BYTES + log_module._WHOLE < canonical.MAX_CONTAINERS
    assert workspace_changes._TREE_BYTES < MAX_LINE_BYTES / 8


def test_an_output_that_is_the_submission_does_not_replace_it(tmp_path):
    """What was printed lies elsewhere than what is graded."""
    content = b"x" * 20_000
    log = Log.open(tmp_path / "r", {"unit": {"id": "u"}}, None)
    assert log._output_file(content.decode(), None) == "outputs/0.txt"
    log.grading("validation", Artefacts({"answer.txt": content}))
    digest = Artefacts({"answer.txt": content}).digests["answer.txt"]
    assert (tmp_path / "r" / ARTEFACTS / digest).read_bytes() == content
    log.__exit__(RuntimeError)


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe"])
def test_partial_output_goes_nowhere_else(tmp_path, kind):
    record, victim = tmp_path / "record", tmp_path / "victim"
    record.mkdir()
    victim.write_text("mine")
    path = record / PARTIAL

    def plant():
        if kind == "link":
            path.symlink_to(victim)
        elif kind == "hard link":
            path.hardlink_to(victim)
        else:
            os.mkfifo(path)

    plant()
    with PartialOutput(record) as printed:
        printed.begin(100)
        plant()
        printed.write(b"abc")
        assert printed.kept == 0
        path.unlink()
        printed.begin(100)
        printed.write(b"abc")
        assert path.read_bytes() == b"abc"
    assert victim.read_text() == "mine"
    assert not path.exists()


def snapshot(files: dict[str, bytes]) -> bytes:
    """Return files as a snapshot holds them."""
    made = io.BytesIO()
    for name, content in files.items():
        made.write(f'[["{name}"],420,"file",null]\n'.encode())
        made.write(_SIZE.pack(len(content)) + content if content else b"")
        made.write(_SIZE.pack(0))
    return made.getvalue()


def test_comparisons_that_take_long_are_made_less_often():
    """However slow it is made, comparing takes at most a twentieth of an episode."""
    now, seconds = [0.0], iter(range(1000))  # each comparison takes a second
    changes = WorkspaceChanges(lambda: now[0], lambda: next(seconds))
    assert changes.first(snapshot({"a": b"1"})).rows[0]["path"] == "a"
    assert changes.since(snapshot({"a": b"2"})) is None
    now[0] += 19.9
    assert changes.since(snapshot({"a": b"2"})) is None
    now[0] += 0.1
    found = changes.since(snapshot({"a": b"3"}))
    assert [row["status"] for row in found.rows] == ["modified"]
    assert sorted(found.texts.values()) == [b"1", b"3"]
