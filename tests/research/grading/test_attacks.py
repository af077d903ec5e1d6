"""Submissions that want a score they have not earned, or want the grading to fall over."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludus.errors import SandboxClosed, SubmissionRejected, TaskError
from ludus.research.grading import collect, submission
from ludus.research.grading.formats import read_csv, read_npz
from ludus.sandbox import Policy, open_sandbox
from tests.research.grading.support import QUICK, File, MadeTask, boxed

pytestmark = boxed

SECRET = "LABELS-4f1c9b7a2e"
# The score is the share of calls that answer with the secret numbers, which are 7, 8, 9.
GAME = """
    from ludus.research.grading import Score

    class Grader:
        def grade(self, submission, labels, seed, split):
            wanted = [int(n) for n in (labels / "numbers.txt").read_text().split()[1:]]
            code = submission.code("play.py")
            answers = code.call_many("play", [[n] for n in range(len(wanted))], returns=int)
            right = sum(a == b for a, b in zip(answers, wanted))
            return Score(right / len(wanted), {"right": right})
"""
TABLE = """
    from ludus.research.grading import Column, Score

    class Grader:
        def grade(self, submission, labels, seed, split):
            rows = [line.split(",") for line in (labels / "rows.csv").read_text().split()]
            table = submission.csv(
                "answers.csv", {"id": int, "label": int}, ids=[int(row[0]) for row in rows]
            )
            return Score(float((table["label"] == [int(row[1]) for row in rows]).mean()))
"""


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    return MadeTask(
        tmp_path_factory.mktemp("game"),
        GAME,
        [File("play.py", "code")],
        {"validation": {"numbers.txt": f"{SECRET} 7 8 9"}},
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return MadeTask(
        tmp_path_factory.mktemp("table"),
        TABLE,
        [File("answers.csv", "csv")],
        {"validation": {"rows.csv": "1,0\n2,1\n3,0\n4,1\n"}},
    )


def test_honest_code_is_scored(game):
    outcome = game.graded(play__py="def play(n): return 7 + n if n < 2 else 0")
    assert outcome.kind == "scored"
    assert outcome.score == 2 / 3
    assert outcome.details == {"right": 2}
    assert outcome.calls == 2  # the import and the batch


FAULTS = {
    "prints a score": (
        """
        import json, sys
        print(json.dumps({"score": 1.0}))
        sys.stdout.flush()
        def play(n): raise SystemExit(0)
        """,
        "SystemExit",
    ),
    "leaves by os._exit": (
        """
        import os
        def play(n):
            os.write(1, b'{"score": 1.0}')
            os._exit(0)
        """,
        "exit code 0",
    ),
    "leaves while it is imported": ("import os; os._exit(0)", "exit code 0"),
    "leaves an atexit handler": (
        """
        import atexit, os, sys
        def last():
            for fd in range(3, 32):
                try: os.write(fd, b"score: 1.0")
                except OSError: pass
        atexit.register(last)
        def play(n):
            import _thread
            os.kill(os.getpid(), 15)
            return 0
        """,
        "signal 15",
    ),
    "kills itself": ("import os\ndef play(n): os.kill(os.getpid(), 9)", "signal 9"),
    "crashes the interpreter": (
        "import ctypes\ndef play(n): return ctypes.string_at(0)",
        "signal 11",
    ),
    "hangs": ("def play(n):\n    while True: pass", "in time"),
    "sleeps": ("import time\ndef play(n): time.sleep(1000)", "in time"),
    "floods the output": (
        "def play(n):\n    while True: print('x' * 10000)",
        "printed more than",
    ),
    "raises": ("def play(n): raise RuntimeError('no idea')", "no idea"),
    "has no function": ("x = 1", "AttributeError"),
    "is no Python": ("def play(n) return 7", "SyntaxError"),
    "answers NaN": ("def play(n): return float('nan')", "finite"),
    "answers infinity in a list": ("def play(n): return [1, [float('inf')]]", "finite"),
    "answers NaN in an array": (
        "import numpy as np\ndef play(n): return np.array([1.0, np.nan])",
        "finite",
    ),
    "answers a giant number": ("def play(n): return 10 ** 1000", "no answer"),
    "answers a giant text": ("def play(n): return 'x' * (1 << 25)", "no answer"),
    "answers itself": (
        """
        def play(n):
            a = []
            a.append(a)
            return a
        """,
        "contains itself",
    ),
    "answers an object": ("def play(n): return object()", "no answer"),
    "answers a bool": ("def play(n): return True", "expected an int"),
    "answers an object that equals everything": (
        """
        class Any(int):
            def __eq__(self, other): return True
            def __hash__(self): return 0
        def play(n): return [Any(1)]
        """,
        "expected an int",
    ),
    "raises what cannot be shown": (
        """
        class Evil(Exception):
            def __str__(self): raise KeyboardInterrupt
        def play(n): raise Evil
        """,
        "cannot be shown",
    ),
    "closes all descriptors": (
        "import os\ndef play(n):\n    os.closerange(0, 1024)\n    return 7",
        "no answer",
    ),
    "eats its memory": (
        "def play(n):\n    a = []\n    while True: a.append(bytearray(1 << 24))",
        "no answer",
    ),
    "is a fork bomb": (
        """
        import os
        def play(n):
            while True:
                os.fork()
        """,
        "no answer",
    ),
}

FORGER = """
    import os, struct, sys

    HEADER = struct.Struct("<QB3xId")

    def spray(data):
        for fd in range(0, 64):
            if fd != 2:
                try:
                    os.write(fd, data)
                except OSError:
                    pass
"""
FORGERIES = {
    # 0xcb is a double: [1.0, {}] is what a result looks like.
    "a score on every descriptor": (
        """
    body = b"\\x92\\xcb" + struct.pack(">d", 1.0) + b"\\x80"
    def play(n):
        spray(HEADER.pack(0, 9, len(body), 0.0) + body)
        return 7 + n
    """,
        "not asked",
    ),
    "an answer before it is asked": (
        """
    spray(HEADER.pack(1, 7, 4, 0.0) + b"\\x93\\x07\\x08\\x09")
    def play(n): return 7 + n
    """,
        "not asked",
    ),
    "a frame that is too large": (
        """
    def play(n): spray(HEADER.pack(0, 7, 0xffffffff, 0.0)); return 7
    """,
        "announced",
    ),
    "a frame that drips": (
        """
    import time
    def play(n):
        for byte in HEADER.pack(0, 7, 100, 0.0) + b"x" * 99:
            spray(bytes([byte]))
            time.sleep(0.05)
        return 7
    """,
        "no answer",
    ),
    "noise": (
        """
    def play(n): spray(os.urandom(4096)); return 7 + n
    """,
        "no answer",
    ),
    "a thread that speaks out of turn": (
        """
    import threading
    spoken = threading.Event()
    def noise():
        while True:
            spray(HEADER.pack(0, 7, 0, 0.0))
            spoken.set()
    threading.Thread(target=noise, daemon=True).start()
    def play(n): spoken.wait(); return 7 + n
    """,
        "no answer",
    ),
    "another encoder": (
        """
    import ludus.codec, ludus.research.grading.inside_code as host
    import ludus.research.grading.protocol as protocol
    host.encode = lambda *a, **k: b"\\x92\\xcb" + struct.pack(">d", 1.0) + b"\\x80"
    def play(n): return 0
    """,
        "as many values",
    ),
    "patched modules": (
        """
    import ludus.research.task.outcome as outcome
    import ludus.research.grading.protocol as protocol
    for name, module in list(sys.modules.items()):
        if name.startswith("ludus"):
            for key in ("Score", "Kind", "encode", "decode"):
                if hasattr(module, key):
                    setattr(module, key, None)
    def play(n): return 7 + n
    """,
        "no answer",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_code_that_misbehaves_has_no_score(game, name):
    source, reason = FAULTS[name]
    outcome = game.graded(play__py=source)
    assert outcome.kind == "agent_fault", outcome
    assert reason in outcome.reason


def test_code_that_hangs_while_it_is_imported(game):
    outcome = game.graded(play__py="while True: pass", limits=replace(QUICK, load=1.0))
    assert outcome.kind == "agent_fault"
    assert "in time" in outcome.reason


def test_time_of_all_calls_together_is_limited(tmp_path):
    grader = """
        def grade(submission, labels, seed, split):
            code = submission.code("play.py")
            for n in range(1000):
                code.call("play", timeout=1.0)
            return 1.0
    """
    task = MadeTask(tmp_path, grader, [File("play.py", "code")])
    source = "import time\ndef play(): time.sleep(0.2)"
    outcome = task.graded(play__py=source, limits=replace(QUICK, code=1.0))
    assert outcome.kind == "agent_fault"
    assert "of 1 in all" in outcome.reason


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_frames_are_no_score(game, name):
    source, reason = FORGERIES[name]
    outcome = game.graded(play__py=FORGER + source)
    assert outcome.kind == "agent_fault", outcome
    assert reason in outcome.reason


# What it says is its answer, so that the test can read it: nothing may be found.
HUNTER = """
    import os

    def play(n):
        found = []
        secret = b"%s"
        if n:
            return 0
        for top, folders, files in os.walk("/"):
            folders[:] = [f for f in folders if os.path.join(top, f) not in SKIPPED]
            found += [os.path.join(top, f) for f in files if f == "numbers.txt"]
            for name in files:
                path = os.path.join(top, name)
                try:
                    if os.path.isfile(path) and not path.endswith("play.py"):
                        with open(path, "rb") as file:
                            if secret in file.read(1 << 20):
                                found.append(path)
                except OSError:
                    pass
        if found:
            raise RuntimeError(f"FOUND {found}")
        return 0

    SKIPPED = {"/usr", "/sys", "/proc", *map(os.path.realpath, PREFIXES)}
"""


HUNTER = "    import sys\n    PREFIXES = [sys.prefix, sys.base_prefix]\n" + HUNTER % SECRET


def test_labels_are_nowhere_in_the_submission_box(game):
    outcome = game.graded(play__py=HUNTER, limits=replace(QUICK, call=20.0))
    assert outcome.kind == "scored", outcome
    assert outcome.score == 0.0


def test_hunter_finds_what_it_could_see(tmp_path):
    files = [File("play.py", "code"), File("hint.txt", "text")]
    task = MadeTask(tmp_path, GAME, files, {"validation": {"numbers.txt": f"{SECRET} 7 8 9"}})
    outcome = task.graded(play__py=HUNTER, hint__txt=SECRET, limits=replace(QUICK, call=20.0))
    assert outcome.kind == "agent_fault"
    assert "FOUND ['/workspace/hint.txt']" in outcome.reason


def test_second_answer_to_one_question_is_no_answer_to_the_next(tmp_path):
    grader = """
        def grade(submission, labels, seed, split):
            code = submission.code("play.py")
            return sum(code.call("play", n, returns=int) for n in range(2))
    """
    task = MadeTask(tmp_path, grader, [File("play.py", "code")])
    outcome = task.graded(
        play__py="""
        import sys
        def play(n):
            caller = sys._getframe()
            while "link" not in caller.f_locals:
                caller = caller.f_back
            frame, link = caller.f_locals["frame"], caller.f_locals["link"]
            link.send(frame.token, 7, b"\\x91\\x64")
            return 100
        """
    )
    assert outcome.kind == "agent_fault", outcome
    assert "before it was asked" in outcome.reason or "not asked" in outcome.reason


def test_no_process_of_the_grader_is_in_sight(game):
    outcome = game.graded(
        play__py="""
        import os
        def play(n):
            lines = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    lines.append(file.read())
                for fd in range(64) if pid == str(os.getpid()) else ():
                    try:
                        lines.append(os.readlink(f"/proc/self/fd/{fd}").encode())
                    except OSError:
                        pass
            seen = b" ".join(lines)
            if b"inside_grader" in seen or b"grade.py" in seen or b"labels" in seen:
                raise RuntimeError(f"FOUND {seen}")
            return 0
        """
    )
    assert outcome.kind == "scored", outcome
    assert outcome.score == 0.0


def test_bundled_tasks_are_hidden_from_submitted_code(game):
    outcome = game.graded(
        play__py="""
        import os, ludus
        def play(n):
            tasks = os.path.join(os.path.dirname(ludus.__file__), "research", "tasks")
            if os.listdir(tasks):
                raise RuntimeError(f"FOUND {os.listdir(tasks)}")
            return 0
        """
    )
    assert outcome.kind == "scored", outcome


def test_what_a_task_hides_is_hidden_from_submitted_code(tmp_path):
    grader = """
        def grade(submission, labels, seed, split):
            return submission.code("play.py").call("play", returns=int)
    """
    task = MadeTask(tmp_path, grader, [File("play.py", "code")])
    source = "import os\ndef play(): return len(os.listdir('/usr/share/doc'))"
    seen = task.graded(play__py=source)
    assert seen.kind == "scored"
    assert seen.score > 0
    task.hidden = (Path("/usr/share/doc"),)
    covered = task.graded(play__py=source)
    assert covered.kind == "scored"
    assert covered.score == 0


def test_network_is_out_of_reach(game):
    outcome = game.graded(
        play__py="""
        import socket
        def play(n):
            try:
                socket.create_connection(("127.0.0.1", 9), timeout=0.2)
            except ConnectionRefusedError:
                return 1
            except OSError:
                return 0
        """
    )
    assert outcome.kind != "infrastructure_fault"
    assert outcome.kind != "scored" or outcome.score == 0.0


TIMED = """
    def grade(submission, labels, seed, split):
        code = submission.code("play.py", alone=True)
        for n in range(3):
            code.call("play", n, returns=int)
        return 1.0
"""
THIEVES = {
    "a child": """
        import os
        def play(n):
            if n == 0 and os.fork() == 0:
                while True: pass
            return 0
        """,
    "a daemon": """
        import os, time
        def play(n):
            if n == 0 and os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(100)
                os._exit(0)
            return 0
        """,
    "a thread": """
        import threading, time
        def play(n):
            threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
            return 0
        """,
}


@pytest.mark.parametrize("name", THIEVES)
def test_work_between_answers_is_refused_where_time_counts(tmp_path, name):
    task = MadeTask(tmp_path, TIMED, [File("play.py", "code")])
    outcome = task.graded(play__py=THIEVES[name])
    assert outcome.kind == "agent_fault"
    assert "running after it had answered" in outcome.reason


def test_code_that_ends_what_it_starts_is_welcome_where_time_counts(tmp_path):
    task = MadeTask(tmp_path, TIMED, [File("play.py", "code")])
    outcome = task.graded(
        play__py="""
        import subprocess
        def play(n):
            subprocess.run(["true"])
            return 0
        """
    )
    assert outcome.kind == "scored", outcome


def test_nothing_is_remembered_after_a_restart(tmp_path):
    grader = """
        def grade(submission, labels, seed, split):
            first = submission.code("play.py").call("play", returns=int)
            submission.restart()
            return first * 10 + submission.code("play.py").call("play", returns=int)
    """
    task = MadeTask(tmp_path, grader, [File("play.py", "code")])
    outcome = task.graded(
        play__py="""
        import pathlib
        marks = [pathlib.Path(p) for p in ("/tmp/m", "/workspace/m", "/dev/shm/m")]
        def play():
            seen = sum(m.exists() for m in marks)
            for m in marks: m.touch()
            return 1 + seen
        """
    )
    assert outcome.kind == "scored", outcome
    assert outcome.score == 11


TABLES = {
    "one id many times": "id,label\n2,1\n2,1\n2,1\n2,1\n",
    "an id twice besides all others": "id,label\n1,0\n2,1\n3,0\n4,1\n4,0\n",
    "rows missing": "id,label\n1,0\n2,1\n",
    "no rows": "id,label\n",
    "nothing": "",
    "foreign ids": "id,label\n1,0\n2,1\n3,0\n5,1\n",
    "a column of its own scores": "id,label,score\n1,0,1\n2,1,1\n3,0,1\n4,1,1\n",
    "only a score": "score\n1.0\n",
    "columns swapped": "label,id\n0,1\n1,2\n0,3\n1,4\n",
    "a column twice": "id,label,label\n1,0,1\n2,0,1\n3,0,1\n4,0,1\n",
    "nan": "id,label\n1,nan\n2,1\n3,0\n4,1\n",
    "inf": "id,label\n1,inf\n2,1\n3,0\n4,1\n",
    "a number of another script": "id,label\n1,٠\n2,1\n3,0\n4,1\n",
    "underscores": "id,label\n1,0\n2,1\n3,0\n0_4,1\n",
    "too many fields": "id,label\n1,0,1\n2,1\n3,0\n4,1\n",
    "an open quote": 'id,label\n1,"0\n2,1\n3,0\n4,1\n',
    "a NUL": "id,label\n1,0\0\n2,1\n3,0\n4,1\n",
    "blank lines": "id,label\n1,0\n\n2,1\n3,0\n4,1\n",
}


def test_honest_table_is_scored(table):
    outcome = table.graded(answers__csv="id,label\n4,1\n3,0\n2,1\n1,1\n")
    assert outcome.kind == "scored", outcome
    assert outcome.score == 0.75


def test_dishonest_table_through_the_boxes(table):
    outcome = table.graded(answers__csv=TABLES["one id many times"].encode())
    assert outcome.kind == "agent_fault"
    assert "more than once" in outcome.reason


@pytest.mark.parametrize("name", TABLES)
def test_dishonest_tables_are_refused(name):
    with pytest.raises(SubmissionRejected):
        read_csv("answers.csv", TABLES[name].encode(), {"id": int, "label": int}, ids=[1, 2, 3, 4])


class Bomb:
    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/ludus-pickle-bomb",)


def pickled_npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, weights=np.array([Bomb()], dtype=object))
    return file.getvalue()


def zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (33554432,), }\n"
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
        archive.writestr("a.npy", content + bytes(8 * 33554432))
    return file.getvalue()


NOT_ARRAYS = {
    "a pickle": pickle.dumps(Bomb()),
    "an archive with a pickle": pickled_npz(),
    "an archive with a program": b"PK\x03\x04" + bytes(100),
    "text": b"not an archive",
    "nothing": b"",
}
ARRAYS = """
    def grade(submission, labels, seed, split):
        return float(submission.arrays("weights.npz")["weights"].sum())
"""


@pytest.mark.parametrize("name", NOT_ARRAYS)
def test_pickles_are_no_arrays(tmp_path, name):
    with pytest.raises(SubmissionRejected):
        read_npz("weights.npz", NOT_ARRAYS[name])


def test_pickle_bomb_through_the_boxes(tmp_path):
    task = MadeTask(tmp_path, ARRAYS, [File("weights.npz", "npz")])
    outcome = task.graded(weights__npz=pickled_npz())
    assert outcome.kind == "agent_fault"
    assert "plain numbers" in outcome.reason


def test_small_archive_of_much_is_refused():
    data = zip_bomb()
    assert len(data) < 1 << 20
    with pytest.raises(SubmissionRejected, match="unpacks to"):
        read_npz("weights.npz", data, max_bytes=1 << 20)


def test_archives_together_unpack_to_a_limit(tmp_path, monkeypatch):
    """Else several that are small would fill the grading box's memory, which is nobody's fault."""
    monkeypatch.setattr(submission, "_UNPACKED", 1000)
    for name in ("a.npz", "b.npz"):
        np.savez(tmp_path / name, weights=np.zeros(60))
    given = submission.Submission(tmp_path, dict.fromkeys(("a.npz", "b.npz"), "npz"), None)
    for _ in range(3):
        assert given.arrays("a.npz")["weights"].size == 60
    with pytest.raises(SubmissionRejected, match="unpacks to"):
        given.arrays("b.npz")


# --- out of the agent's box -------------------------------------------------------------------


@pytest.fixture(scope="module")
def agent_box():
    with open_sandbox(Policy(memory="128M", pids=16)) as box:
        yield box


TRICKS = {
    "a link": "echo x > real; ln -s real it",
    "a link to a file of the host": "ln -s /etc/passwd it",
    "a link that leads nowhere": "ln -s nowhere it",
    "a hard link": "echo x > real; ln real it",
    "a folder": "mkdir it; touch it/file",
    "a pipe": "mkfifo it",
    "a large file": "head -c 2000 /dev/zero > it",
    "a large file with a hole": "truncate -s 1T it || truncate -s 2000 it",
    "nothing": "true",
}


@pytest.mark.parametrize("name", TRICKS)
def test_only_plain_files_are_taken(agent_box, name):
    agent_box.run(["sh", "-c", f"rm -rf it real; {TRICKS[name]}"], timeout=10).check()
    with pytest.raises(SubmissionRejected, match="it "):
        collect(agent_box, [File("it", "text", 1000)])


def test_folder_on_the_way_that_is_a_link(agent_box):
    agent_box.run(
        ["sh", "-c", "rm -rf out way; mkdir out; echo x > out/it; ln -s out way"], timeout=10
    ).check()
    with pytest.raises(SubmissionRejected):
        collect(agent_box, [File("way/it", "text")])
    assert collect(agent_box, [File("out/it", "text")]).files == {"out/it": b"x\n"}


def test_box_that_is_gone_is_no_fault_of_the_agent():
    box = open_sandbox()
    box.close()
    with pytest.raises(SandboxClosed):
        collect(box, [File("it", "text")])


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", ".", "", "a//b"])
def test_declared_paths_stay_in_the_workspace(agent_box, path):
    with pytest.raises(TaskError, match="path"):
        collect(agent_box, [File(path, "text")])


def test_undeclared_missing_and_large_files_are_refused(table):
    assert table.graded().kind == "agent_fault"
    assert table.graded(answers__csv="", grade__py="x").kind == "agent_fault"
    assert table.graded(answers__csv=bytes(2 << 20)).kind == "agent_fault"


def test_json_self_report(tmp_path):
    grader = """
        def grade(submission, labels, seed, split):
            value = submission.json("result.json")
            return 0.0 if type(value) is dict else 1.0
    """
    task = MadeTask(tmp_path, grader, [File("result.json", "json")])
    outcome = task.graded(result__json=json.dumps({"score": 1.0}))
    assert outcome.kind == "scored"
    assert outcome.score == 0.0
    assert task.graded(result__json='{"a": NaN}').kind == "agent_fault"
