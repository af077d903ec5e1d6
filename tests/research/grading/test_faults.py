"""Who is to blame: a grading that fails on every submission is never the agent's fault."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from ludus.errors import DataMissing
from ludus.research.grading import sandboxes
from tests.research.grading.support import QUICK, File, MadeTask, boxed

pytestmark = boxed

GRADERS = {
    "raises": ("def grade(s, labels, seed, split): raise KeyError('oops')", "oops"),
    "does not parse": ("def grade(", "SyntaxError"),
    "defines nothing": ("x = 1", "neither"),
    "returns a text": ("def grade(s, labels, seed, split): return '1.0'", "expected a Score"),
    "is killed": (
        "import os\ndef grade(s, labels, seed, split): os.kill(os.getpid(), 9)",
        "signal 9",
    ),
    "leaves": ("import os\ndef grade(s, labels, seed, split): os._exit(0)", "exit code 0"),
    "hangs": ("def grade(s, labels, seed, split):\n    while True: pass", "in time"),
    "asks for what is not declared": (
        "def grade(s, labels, seed, split): return s.code('other.py').call('f')",
        "the task declares",
    ),
    "fills its disk": (
        "def grade(s, labels, seed, split):\n    open('x', 'wb').write(bytes(1 << 28))",
        "No space left",
    ),
    "eats its memory": (
        "def grade(s, labels, seed, split):\n    a = [bytearray(1 << 24) for n in range(999)]",
        "memory",
    ),
    "has details that are no JSON": (
        "from ludus.research.grading import Score\n"
        "def grade(s, labels, seed, split): return Score(1.0, {'a': object()})",
        "details",
    ),
}


@pytest.mark.parametrize("name", GRADERS)
def test_grader_that_fails_is_our_fault(tmp_path, name):
    source, reason = GRADERS[name]
    task = MadeTask(tmp_path, source, [File("a.txt", "text")], good={"a.txt": b"x"})
    outcome = task.graded(a__txt="x", limits=replace(QUICK, grader=3.0))
    assert outcome.kind == "infrastructure_fault", outcome
    assert reason in outcome.reason


def test_score_that_is_not_finite_is_none(tmp_path):
    task = MadeTask(
        tmp_path, "def grade(s, labels, seed, split): return float('nan')", [File("a.txt", "text")]
    )
    assert task.graded(a__txt="x").kind == "agent_fault"


def test_grader_that_prints_is_not_disturbed(tmp_path):
    source = """
        from ludus.research.grading import Score
        def grade(s, labels, seed, split):
            print("noise" * 100_000, flush=True)
            return Score(1.5, {"labels": sorted(p.name for p in labels.iterdir()), "seed": seed,
                               "split": split, "text": s.text("a.txt"), "nan": float("nan")})
    """
    task = MadeTask(tmp_path, source, [File("a.txt", "text")], {"test": {"y.txt": "1"}})
    outcome = task.graded(a__txt="x", split="test", seed=7)
    assert outcome.kind == "scored", outcome
    assert outcome.score == 1.5
    assert outcome.details == {
        "labels": ["y.txt"],
        "seed": 7,
        "split": "test",
        "text": "x",
        "nan": None,
    }
    other = task.graded(a__txt="x", split="validation")
    assert other.kind == "scored"
    assert other.details["labels"] == []


def test_grader_and_labels_are_read_only(tmp_path):
    source = """
        def grade(s, labels, seed, split):
            for path in (labels / "y.txt", labels / "new", __file__):
                try:
                    open(path, "a")
                except OSError:
                    continue
                return 1.0
            return 0.0
    """
    task = MadeTask(tmp_path, source, [File("a.txt", "text")], {"validation": {"y.txt": "1"}})
    outcome = task.graded(a__txt="x")
    assert outcome.kind == "scored", outcome
    assert outcome.score == 0.0


def test_private_labels_are_shown_to_the_grader_only(tmp_path):
    source = "def grade(s, labels, seed, split): return int((labels / 'y.txt').read_text())"
    task = MadeTask(tmp_path, source, [File("a.txt", "text")], {"validation": {"y.txt": "5"}})
    (tmp_path / "validation" / "y.txt").chmod(0o600)
    outcome = task.graded(a__txt="x")
    assert outcome.kind == "scored", outcome
    assert outcome.score == 5.0


class _Captured:
    """Remembers the sandboxes that a grading opens."""

    def __init__(self, monkeypatch):
        self.opened = {}
        original = sandboxes.open_sandbox

        def remember(*args, **kwargs):
            box = original(*args, **kwargs)
            self.opened[kwargs["label"]] = box
            return box

        monkeypatch.setattr(sandboxes, "open_sandbox", remember)


@pytest.mark.parametrize("label", ["grader", "code"])
def test_box_that_somebody_closes_is_our_fault(tmp_path, monkeypatch, label):
    captured = _Captured(monkeypatch)
    source = """
        def grade(s, labels, seed, split):
            code = s.code("play.py")
            code.call("play")
            return 1.0
    """
    task = MadeTask(tmp_path, source, [File("play.py", "code")])

    def close_it():
        while label not in captured.opened:
            time.sleep(0.01)
        time.sleep(0.5)
        captured.opened[label].close("the test closed it")

    closer = threading.Thread(target=close_it)
    closer.start()
    slow = replace(QUICK, call=20.0)
    outcome = task.graded(play__py="import time\ndef play(): time.sleep(2)", limits=slow)
    closer.join()
    assert outcome.kind == "infrastructure_fault", outcome


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device"), DataMissing("no data")]
)
def test_host_that_fails_is_our_fault(tmp_path, problem):
    class Broken(MadeTask):
        def labels_folder(self, split, seed):
            raise problem

    task = Broken(tmp_path, "def grade(*a): return 1.0", [File("a.txt", "text")])
    outcome = task.graded(a__txt="x")
    assert outcome.kind == "infrastructure_fault"
    assert str(problem) in outcome.reason


def test_submission_that_does_not_fit_its_box_is_our_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(sandboxes, "_SPARE", -(900 << 10))
    task = MadeTask(tmp_path, "def grade(*a): return 1.0", [File("a.txt", "text")])
    outcome = task.graded(a__txt=bytes(1 << 20), limits=replace(QUICK, disk=64 << 10))
    assert outcome.kind == "infrastructure_fault", outcome
    assert "No space left" in outcome.reason


def test_task_without_grader(tmp_path):
    task = MadeTask(tmp_path, "", [File("a.txt", "text")])
    (task.grader_folder / "grade.py").unlink()
    assert task.graded(a__txt="x").kind == "infrastructure_fault"


def test_backend_that_is_not_there(tmp_path, monkeypatch):
    from ludus.sandbox.backend.bubblewrap import Bubblewrap

    monkeypatch.setattr(Bubblewrap, "unavailable", classmethod(lambda cls: "No bwrap."))
    task = MadeTask(tmp_path, "def grade(*a): return 1.0", [File("a.txt", "text")])
    assert task.graded(a__txt="x", backend="bubblewrap").kind == "infrastructure_fault"


def test_unknown_split(tmp_path):
    task = MadeTask(tmp_path, "", [])
    with pytest.raises(ValueError, match="split"):
        task.graded(split="train")
