"""Submissions that want their bad score taken for a fault of the infrastructure."""

from __future__ import annotations

import io
import shutil
import struct
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from ludus.codec import encode
from ludus.errors import DataMissing, SandboxClosed, SubmissionRejected
from ludus.research import find_tasks, load_task, new_task
from ludus.research.data.data_cache import CachedTask
from ludus.research.data.preparation import null_submission
from ludus.research.grading import (
    collect,
    grade,
    sandboxes,
)
from ludus.research.grading.answers import admitted_numbers, checked_answers
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.formats import read_npz
from ludus.research.grading.protocol import VALUES
from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.process_handle import LocalJob
from tests.research.attacks.rights import drop_rights_over_files
from tests.research.env_support import answer, make, write_task
from tests.research.grading.support import QUICK, File, MadeTask, boxed
from tests.research.running.support import in_child
from tests.research.support import SAMPLES
from tests.research.tasks.directly import graded, grader_of
from tests.research.tasks.policy_files import policy_files

pytestmark = boxed

# --- answers that are larger than they look ----------------------------------------------------


def test_an_answer_that_explodes_when_it_is_converted():
    """An array of one text of 8 MB and 255 empty ones has 8 GB."""
    with make("rlMountainCarContinuous") as env:
        env.reset(seed=0)
        for path, data in policy_files("['x' * (8 << 20)] + [''] * (n - 1)").items():
            env.sandbox.write_bytes(path, data)
        info = env.step("validate")[4]
        assert info["validation"]["outcome"] == "agent_fault", info["validation"]["reason"]
        assert info["validations"] == 1
        assert env.step("submit")[4]["outcome"] == "agent_fault"


HOSTILE = {
    "texts": ["x" * (1 << 20)] + [""] * 3,
    "texts in an array": np.array(["a", "b", "c", "d"]),
    "bytes": [b"1"] * 4,
    "a text": "1234",
    "nothing": None,
    "a dict": {0: 1, 1: 2, 2: 3, 3: 4},
    "bools": [True] * 4,
    "an array of bools": np.ones(4, bool),
    "complex numbers": np.ones(4, complex),
    "lists in lists": [[1], [2], [3], [4]],
    "one too many": [1] * 5,
    "one too few": np.ones(3, int),
    "one that is a list": [1, 2, 3, [4]],
    "arrays in a list": [np.ones(1, int)] * 4,
    "an integer beyond 64 bits": [1, 2, 3, 2**64 - 1],
    "floats": [1.0, 2.0, 3.0, 4.0],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_only_numbers_of_the_right_shape_are_admitted(name):
    assert admitted_numbers(HOSTILE[name], (4,), "iu") is None


def test_numbers_of_the_right_shape_are_admitted():
    for good in ([1, 2, 3, 4], (1, 2, 3, 4), np.arange(1, 5), [np.int8(1), 2, 3, np.uint64(4)]):
        np.testing.assert_array_equal(admitted_numbers(good, (4,), "iu"), [1, 2, 3, 4])
    np.testing.assert_array_equal(admitted_numbers([[1.5, 2]], (1, 2), "iuf"), [[1.5, 2.0]])


def test_an_answer_that_is_too_large_is_not_even_decoded():
    payload = encode(["x" * 1000], VALUES)
    with pytest.raises(SubmissionRejected, match="1,004 bytes; at most 100"):
        checked_answers("f", payload, 1, None, max_bytes=100)
    with pytest.raises(SubmissionRejected, match="bytes; at most 100"):
        checked_answers("f", b"\xc1" * 101, 1, None, max_bytes=100)


GAMES = {"battleOfSexes": "strategy", "blotto": "strategy", "prisonersDilemma": "strategy"}


@pytest.mark.parametrize("task", GAMES)
def test_games_take_no_large_answers(task):
    huge = lambda mine, theirs: "x" * 1000  # noqa: E731
    with pytest.raises(SubmissionRejected, match="at most"):
        graded(grader_of(task), strategy=huge)


def npy(descr: bytes, shape: bytes) -> bytes:
    header = b"{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n" % (descr, shape)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize("descr", [b"<U0", b"|S0"])
@pytest.mark.parametrize("packed", [False, True])
def test_texts_of_no_length_that_numpy_makes_room_for(descr, packed):
    """No bytes in the file, and 400 gigabytes in memory."""
    data = npy(descr, b"100000000000,")
    if packed:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.npy", data)
        data = file.getvalue()
    with pytest.raises(SubmissionRejected, match="header claims"):
        read_npz("weights.npz", data)


# --- graders that fall over --------------------------------------------------------------------

# Falls over on some submissions, in ways that no grader should, and does well on others.
FRAGILE = """
    import json, os, time
    from ludus.research.grading import Score

    def grade(submission, labels, seed, split):
        text = submission.text("a.txt").strip()
        if text == "memory":
            hoard = [bytearray(1 << 24) for n in range(999)]
        if text == "raise":
            raise KeyError(text)
        if text == "die":
            os.kill(os.getpid(), 9)
        if text == "leave":
            os._exit(0)
        if text == "late":
            time.sleep(1000)
        if text == "details":
            return Score(1.0, {"echo": "x" * (1 << 17)})
        if text == "objects":
            return Score(1.0, {"echo": object()})
        if text == "many":
            return Score(1.0, {"echo": list(range(30_000))})
        if text == "no score":
            return text
        if text == "recursion":
            json.loads("[" * 100_000)
        if text == "disk":
            open("full", "wb").write(bytes(1 << 28))
        if text == "question":
            submission.code("other.py")
        return Score(float(len(text)))
"""
FALLS = (
    *("memory", "raise", "die", "leave", "late", "details", "objects", "many", "no score"),
    *("recursion", "disk", "question"),
)


def fragile(folder, grader=FRAGILE, good=b"good"):
    files = [File("a.txt", "text")]
    return MadeTask(folder, grader, files, good=None if good is None else {"a.txt": good})


@pytest.mark.parametrize("how", FALLS)
def test_a_submission_on_which_the_grader_falls_over(tmp_path, how):
    outcome = fragile(tmp_path).graded(a__txt=how, limits=replace(QUICK, grader=3.0))
    assert outcome.kind == "agent_fault", outcome
    assert "twice, and not on a good one" in outcome.reason
    assert (
        outcome.told
        == "The grader cannot handle this submission; it scores others without a fault."
    )


def test_a_grader_that_falls_over_by_itself_is_no_fault_of_the_submission(tmp_path):
    for good in (b"raise", b"memory"):
        outcome = fragile(tmp_path, good=good).graded(a__txt="die")
        assert outcome.kind == "infrastructure_fault", outcome
        assert "Nor is the grader well otherwise" in outcome.reason


def test_a_grader_that_refuses_what_is_good_is_no_fault_of_the_submission(tmp_path):
    task = fragile(tmp_path)
    task.good = {"b.txt": b"x"}
    assert task.graded(a__txt="die").kind == "infrastructure_fault"


def test_a_grader_that_fell_over_by_chance_is_asked_again(tmp_path, monkeypatch):
    """The first grading's box has too little memory, as if something else had taken it."""
    opened, real = [], sandboxes.Sandboxes.open_grader

    def small_at_first(self, *args):
        opened.append(self)
        if len(opened) == 1:
            self = replace(self, limits=replace(self.limits, memory="48M"))
        return real(self, *args)

    monkeypatch.setattr(sandboxes.Sandboxes, "open_grader", small_at_first)
    hungry = FRAGILE.replace("text = ", "hoard = bytearray(200 << 20); text = ")
    outcome = fragile(tmp_path, hungry).graded(a__txt="fine")
    assert outcome.kind == "scored", outcome
    assert len(opened) == 3


def test_without_a_good_submission_the_grader_must_at_least_start(tmp_path):
    outcome = fragile(tmp_path / "a", good=None).graded(a__txt="raise")
    assert outcome.kind == "agent_fault", outcome
    broken = "import no_such_package\n"
    outcome = fragile(tmp_path / "b", broken, good=None).graded(a__txt="fine")
    assert outcome.kind == "infrastructure_fault", outcome


FORWARDING = """
    def grade(submission, labels, seed, split):
        code = submission.code("play.py")
        kept = []
        for n in range(20):
            kept.append(code.call("play", kept, timeout=20.0))
        return 1.0
"""


def test_answers_that_grow_until_no_message_holds_them(tmp_path):
    """Each answer is within the limit; what the grader forwards is not."""
    good = {"play.py": b"def play(kept): return 0"}
    task = MadeTask(tmp_path, FORWARDING, [File("play.py", "code")], good=good)
    limits = replace(QUICK, message_bytes=1 << 20)
    outcome = task.graded(play__py="def play(kept): return 'x' * 500_000", limits=limits)
    assert outcome.kind == "agent_fault", outcome
    assert "announced a message" in outcome.reason


SLOW_TO_READ = """
    def grade(submission, labels, seed, split):
        code = submission.code("play.py")
        for n in range(100):
            code.call("play", timeout=20.0)
        return 1.0
"""


def test_answers_that_take_the_graders_time(tmp_path):
    """The code is quick: what it answers takes the grader long to read, a hundred times."""
    good = {"play.py": b"def play(): return 0"}
    task = MadeTask(tmp_path, SLOW_TO_READ, [File("play.py", "code")], good=good)
    source = "made = [[] for n in range(1_000_000)]\ndef play(): return made"
    limits = replace(QUICK, grader=2.0, call=20.0, code=100.0)
    outcome = task.graded(play__py=source, limits=limits)
    assert outcome.kind == "agent_fault", outcome


def test_a_validation_on_which_the_grader_falls_over_counts(tmp_path):
    folder = tmp_path / "guess"
    shutil.copytree(SAMPLES / "guess_number", folder)
    # It trusts that the guess can be written down.
    grade = (folder / "grader" / "grade.py").read_text()
    (folder / "grader" / "grade.py").write_text(grade.replace("returns=int", "returns=None"))
    with make(folder) as env:
        env.reset(seed=0)
        env.sandbox.write_bytes("guess.py", b"def guess(low, high, answers): return {}")
        info = env.step("validate")[4]
        assert info["validation"]["outcome"] == "agent_fault", info["validation"]
        assert info["validations"] == 1
        step = env.step("submit")
        assert step[4]["outcome"] == "agent_fault"
        assert step[4]["normalised_score"] == env.task.scale.worst


LOITERING = """
    def grade(submission, labels, seed, split):
        code = submission.code("play.py", alone=True)
        for n in range(1000):
            code.call("play", timeout=1.0)
        return 1.0
"""


def test_loitering_after_each_answer_is_not_free(tmp_path):
    """A thread that ends just in time: the grading takes its time, and no call does."""
    task = MadeTask(tmp_path, LOITERING, [File("play.py", "code")])
    source = """
        import threading, time
        def play():
            threading.Thread(target=time.sleep, args=(0.1,)).start()
            return 0
    """
    outcome = task.graded(play__py=source, limits=replace(QUICK, code=1.0))
    assert outcome.kind == "agent_fault", outcome
    assert "of 1 in all" in outcome.reason


# --- workspaces that cannot be copied ----------------------------------------------------------

MESSES = {
    "a socket": "python -c \"import socket; socket.socket(1).bind('it')\"",
    "a device that is none": "mkfifo it; (sleep 60 > it &) ; true",
    "a file that nobody may read": "echo x > it; chmod 000 it; ln it other",
    "a file of holes": "truncate -s 1T it || truncate -s 2000 it",
    "a folder that nobody may enter": "mkdir -p it/a; chmod 000 it",
    "no folder at all": "cd /; rm -rf /workspace/* /workspace/.*",
    "a very deep folder": "for n in $(seq 300); do mkdir d; cd d; done; true",
    "names that are no text": "touch $'\\xff\\xfe' $'a\\nb'; true",
    "as many files as there may be": "i=0; while : > n$i; do i=$((i+1)); done 2>/dev/null; true",
}


@pytest.mark.parametrize("name", MESSES)
def test_a_workspace_that_is_a_mess_is_the_agents_fault(name):
    with open_sandbox(Policy(memory="128M", pids=32, disk="4M")) as box:
        box.run(["bash", "-c", MESSES[name]], timeout=30)
        with pytest.raises(SubmissionRejected):
            collect(box, [File("it", "text", 1000)])


def test_a_sandbox_that_somebody_closed_is_not():
    with open_sandbox() as box:
        pass
    with pytest.raises(SandboxClosed):
        collect(box, [File("it", "text")])


CLOSED = {
    "the file": "echo x > it; chmod 000 it",
    "a folder on the way": "mkdir it; touch it/a; chmod 000 it",
    "the workspace": "echo x > it; chmod 000 /workspace",
}


@pytest.mark.parametrize("what", CLOSED)
def test_what_is_closed_to_everybody_is_the_agents_fault(what):
    """Where Ludus does not run as root, the modes of files hold for it too."""

    def look():
        drop_rights_over_files()
        for path in ("it", "it/a"):
            with pytest.raises(SubmissionRejected):
                collect(box, [File(path, "text")])

    with open_sandbox() as box:
        box.run(["bash", "-c", CLOSED[what]], timeout=10)
        assert in_child(look) == 0


def test_an_agent_that_closes_its_folders_is_graded(tmp_path):
    def act():
        drop_rights_over_files()
        assert env.step("chmod 000 /tmp /dev/shm /workspace")[4]["outcome"] == "running"
        assert env.finish()[4]["outcome"] == "agent_fault"

    with make(write_task(tmp_path / "answers")) as env:
        env.reset(seed=3)
        assert in_child(act) == 0


# --- sandboxes that agents bring down ----------------------------------------------------------

KILLS = {
    "everything that it sees": "kill -9 -1; kill -9 1",
    "its shell by a fork bomb": "bomb() { bomb | bomb & }; bomb; exec sleep 0.2",
    "all processes that there may be": (
        'exec python -c "\nimport os, time\n'
        "for n in range(9999):\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(1000)\n"
        "    except OSError: break\n"
        'os.kill(os.getpid(), 9)"'
    ),
    "all memory that there is": "exec python -c 'a = [bytearray(1 << 24) for n in range(999)]'",
    "what it reads and writes": "exec 0<&- 1>&- 2>&- 96>&- 97>&- 98>&- 99>&-; exec true",
    "its limits": "ulimit -u 1 -n 3 -v 1000 -f 0; exec bash",
}


@pytest.mark.parametrize("what", KILLS)
def test_an_agent_that_brings_its_sandbox_down_is_graded(tmp_path, what):
    with make(write_task(tmp_path / "answers")) as env:
        env.reset(seed=3)
        env.step(answer(0.75))
        done = False
        for action in (KILLS[what], KILLS[what], "submit"):
            if not done:
                _, _, terminated, truncated, info = env.step(action)
                done = terminated or truncated
        if not done:
            *_, info = env.finish()
        assert (info["outcome"], info["score"]) == ("scored", 0.75), info["reason"]


def test_a_task_that_was_just_begun_has_one_too(tmp_path):
    task = CachedTask.of(load_task(new_task("slopeTask", tmp_path)))
    good = task.known_good(0)
    assert good is not None
    assert grade(task, good, "test", 0).kind == "scored"


@pytest.mark.parametrize("program", ["1 / 0", "def null_submission(workspace): return {}"])
def test_a_null_submission_that_fails_is_a_fault_of_the_task(tmp_path, program):
    folder = write_task(tmp_path / "answers")
    (folder / "grader" / "grade.py").write_text("def grade(*a): raise KeyError")
    (folder / "null.py").write_text(program)
    with make(folder) as env:
        env.reset(seed=0)
        info = env.step("submit")[4]
    assert info["outcome"] == "infrastructure_fault"
    assert "null.py" in info["reason"]


@pytest.mark.parametrize("task", find_tasks().tasks, ids=lambda task: task.id)
def test_every_bundled_task_has_a_submission_that_is_known_to_be_good(task):
    try:
        workspace = CachedTask.of(task).prepared(0).workspace
    except DataMissing as problem:
        pytest.skip(str(problem))
    files = null_submission(task, workspace)
    assert files is not None
    assert files.keys() == {item.path for item in task.config.submission}


# --- boxes that cannot be closed ---------------------------------------------------------------


@pytest.mark.parametrize("owner", [Sandbox, LocalJob])
def test_a_box_of_a_grading_that_cannot_be_closed_changes_no_score(tmp_path, monkeypatch, owner):
    """Code can see to it that its processes end slowly; its score stands."""
    close = owner.close

    def failing(self, *args):
        close(self, *args)
        raise OSError(16, "Device or resource busy")

    task = CachedTask.of(load_task(SAMPLES / "guess_number"))
    good = Artefacts({"guess.py": (SAMPLES / "guess_number/reference/guess.py").read_bytes()})
    with monkeypatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patched.setattr(owner, "close", failing)
        found = grade(task, good, "validation", 0, draw=1, backend="bubblewrap", limits=QUICK)
    assert found.kind == "scored", found
