"""Whose fault it is when something breaks: what is not the agent's doing is never a score.

Boxes are real. What grading alone does when it fails is in grading/test_faults.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from ludus.bench import RunSettings
from ludus.errors import ModelServerError, ResearchError, TaskError
from ludus.research import ResearchEnv, load_task
from ludus.research.data import cache as data_files
from ludus.research.data.cache import cache_folder
from ludus.research.episode import env as env_module
from ludus.research.model_server.policies import Break, Call, Fail, Raw, Slow
from ludus.research.model_server.server import ModelServer
from tests.research.agents.support import Waits, agent_on
from tests.research.env_support import FakeGrade, answer, make, write_task
from tests.research.fault_support import (
    SLOW_CODE,
    SLOW_GRADER,
    Killer,
    has_begun,
    kill,
    meanwhile,
    supervisors,
    wait_for,
)
from tests.research.running.support import start as start_run
from tests.research.running.support import write_script
from tests.research.support import SAMPLES
from tests.sandbox.attacks.host import members
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap", root=True)

INFRASTRUCTURE = ("infrastructure_fault", None, None)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    for name in ("MLGYM_ENV_TIMEOUT", "MLGYM_ACTION_SHORT_TIMEOUT", "MLGYM_ACTION_LONG_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path / "answers")


@pytest.fixture
def start():
    made = []

    def begin(task, **options):
        made.append(make(task, **options))
        made[-1].reset(seed=3)
        return made[-1]

    yield begin
    for env in made:
        env.close()


def ending(step):
    """Return outcome, score and normalised score of a step that ended an episode."""
    _, _, terminated, truncated, info = step
    assert terminated or truncated
    return info["outcome"], info["score"], info["normalised_score"]


# --- the agent's box ---------------------------------------------------------------------------


@pytest.mark.parametrize("whom", [supervisors, lambda box: members(box.name)], ids=["one", "all"])
def test_a_box_that_is_killed_in_the_middle_of_a_command(task, start, whom):
    env = start(task)
    env.step(answer(0.9))
    box = env.sandbox

    def interfere():
        wait_for(lambda: has_begun(box))
        kill(whom(box))

    with meanwhile(interfere):
        step = env.step("touch begun; sleep 60")
    observation, reward, terminated, truncated, info = step
    assert observation in env.observation_space
    assert (reward, terminated, truncated, info["end"]) == (0.0, False, True, "box")
    assert ending(step) == INFRASTRUCTURE
    assert "outside" in info["reason"]
    assert not members(box.name)
    env.reset()
    env.step(answer(0.9))
    assert ending(env.step("submit"))[:2] == ("scored", 0.9)


def test_a_box_that_is_killed_between_two_commands(task, start):
    env = start(task)
    env.step(answer(0.9))
    kill(supervisors(env.sandbox))
    assert ending(env.step("submit")) == INFRASTRUCTURE


def test_a_run_whose_box_is_killed_counts_that_apart_and_goes_on(task, tmp_path, monkeypatch):
    original, threads = env_module.open_sandbox, []

    def opened(*args, **kwargs):
        box = original(*args, **kwargs)
        if not threads:
            threads.append(threading.Thread(target=interfere, args=(box,)))
            threads[0].start()
        return box

    def interfere(box):
        wait_for(lambda: has_begun(box))
        kill(supervisors(box))

    monkeypatch.setattr(env_module, "open_sandbox", opened)
    script = write_script(tmp_path / "s.yaml", [answer(0.9), "touch begun; sleep 1", "submit"])
    how = {"settings": RunSettings(engine="serial", retries=1, backoff=0.01)}
    done = start_run(task, "scripted", tmp_path / "run", agent_options={"file": script}, **how)
    threads[0].join()
    (result,) = done.results
    assert (done.exit_code, result.outcome, result.score) == (0, "scored", 0.9)
    (fault,) = result.extra["faults"]
    assert "outside" in fault


def test_what_an_agent_kills_itself_is_its_own_affair(task, start):
    env = start(task)
    env.step(answer(0.75))
    for command in (
        "kill -9 -1",
        "kill -9 1 $$ $PPID",
        "python -c 'import os; os.kill(-1, 9)'",
        "exec python -c 'import os; os.kill(os.getpid(), 9)'",
        "exec sh -c 'kill -9 -1; kill -11 $$'",
    ):
        assert env.step(command)[4]["outcome"] == "running", command
    assert ending(env.step("submit"))[:2] == ("scored", 0.75)


def test_memory_that_an_agent_eats_is_its_own_affair(task, start):
    env = start(task)
    info = env.step("exec python -c 'a = [bytearray(1 << 24) for n in range(999)]'")[4]
    assert info["outcome"] == "running"
    assert ending(env.step("submit"))[:2] == ("scored", 0.1)


def test_a_disk_that_an_agent_fills_is_its_own_affair(task, start):
    env = start(task)
    env.step("rm answer.json; head -c 1G /dev/zero > fill; echo '{\"answer\": 1}' > answer.json")
    _, _, info = env.step("cat fill > /tmp/fill; true")[2:]
    assert info["outcome"] == "running"
    env.step("i=0; while : > n$i; do i=$((i+1)); done 2>/dev/null")
    assert ending(env.finish())[0] == "agent_fault"


# --- the boxes of a grading --------------------------------------------------------------------


@pytest.fixture
def slow_task(tmp_path):
    """A task whose grader and whose submission take a moment, and say so."""
    folder = tmp_path / "guess"
    shutil.copytree(SAMPLES / "guess_number", folder)
    (folder / "workspace" / "guess.py").write_text(SLOW_CODE)
    (folder / "grader" / "grade.py").write_text(SLOW_GRADER)
    return folder


@pytest.mark.parametrize("label", ["grader", "code"])
def test_a_grading_whose_box_is_killed_is_repeated(slow_task, start, monkeypatch, label):
    env = start(slow_task)
    killer = Killer(monkeypatch, label, times=1)
    assert ending(env.step("submit"))[:2] == ("scored", 7.0)
    killer.join()
    assert killer.killed == 1


@pytest.mark.parametrize("label", ["grader", "code"])
def test_a_grading_whose_boxes_are_killed_is_no_score(slow_task, start, monkeypatch, label):
    env = start(slow_task)
    killer = Killer(monkeypatch, label, times=4)
    observation, reward, *_, info = env.step("validate")
    assert info["validation"]["outcome"] == "infrastructure_fault"
    assert (info["validations"], reward, info["outcome"]) == (0, 0.0, "running")
    assert "no fault of yours" in observation["output"]
    step = env.step("submit")
    assert (step[1], ending(step)) == (0.0, INFRASTRUCTURE)
    killer.join()
    assert killer.killed == 4


@pytest.mark.parametrize(
    "deed",
    [
        "os._exit(0)",
        "sys.exit(137)",
        "os.kill(os.getpid(), 9)",
        "os.kill(1, 9); os.kill(os.getppid(), 9); os.kill(-1, 9); os._exit(137)",
        "signal.raise_signal(signal.SIGSEGV)",
        "[bytearray(1 << 24) for n in range(9999)]",
        "os.close(3); [os.close(n) for n in range(64) if n != 2]",
    ],
)
def test_submitted_code_that_ends_its_box_is_the_agents_fault(tmp_path, start, deed):
    folder = tmp_path / "guess"
    shutil.copytree(SAMPLES / "guess_number", folder)
    env = start(folder)
    source = f"import os, signal, sys\ndef guess(low, high, answers):\n    {deed}\n    return 0\n"
    env.sandbox.write_bytes("guess.py", source.encode())
    step = env.step("submit")
    assert ending(step)[:2] == ("agent_fault", None), step[4]["reason"]
    assert step[4]["normalised_score"] == env.task.scale.worst


# --- the host's disk ---------------------------------------------------------------------------

FULL = """
import json, os, subprocess, sys
from pathlib import Path
from ludus.errors import Error
from tests.research.env_support import answer, make

task, place, variable = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16M", "none", place], check=True)
fill = Path(place, "fill")
os.environ[variable] = str(Path(place, "own"))
told = []

def full():
    with open(fill, "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 16)):
                pass
        except OSError:
            pass

env = make(task)
if variable == "LUDUS_CACHE":
    full()
    try:
        env.reset(seed=3)
    except Error as problem:
        told.append(["raised", type(problem).__name__, str(problem)])
    fill.unlink()
env.reset(seed=3)
env.step(answer(0.75))
if variable == "LUDUS_STATE":
    full()
    told.append(["while full", env.step("validate")[4]["validation"]["outcome"]])
    fill.unlink()
info = env.step("submit")[4]
told.append([info["outcome"], info["score"], info["validations"]])
env.close()
print(json.dumps(told))
"""


def with_a_full_disk(task, variable):
    """Run the program above where nobody else sees the small disk."""
    root = Path(__file__).parents[2]
    # Big files of data.py are what fills disks.
    with (task / "data.py").open("a") as file:
        file.write("    (folder / 'workspace' / 'big').write_bytes(bytes(1 << 20))\n")
    # Not below pytest's own folder, which a box's user cannot reach.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        argv = ["unshare", "--mount", sys.executable, "-c", FULL, str(task), folder, variable]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=root, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_room_for_data_is_said_and_passes(task):
    told = with_a_full_disk(task, "LUDUS_CACHE")
    (raised, kind, text), graded = told
    assert (raised, kind) == ("raised", "ResearchError")
    assert "No space left" in text
    assert "LUDUS_CACHE" in text
    assert graded == ["scored", 0.75, 0]


def test_no_room_for_a_gradings_boxes_is_no_score_and_passes(task):
    told = with_a_full_disk(task, "LUDUS_STATE")
    assert told == [["while full", "infrastructure_fault"], ["scored", 0.75, 0]]


# --- the model's server ------------------------------------------------------------------------

BROKEN = {
    "refuses connections": None,
    "fails": Fail(500),
    "is overloaded": Fail(529),
    "sends other JSON": Raw({"choices": "none"}),
    "sends half an answer": Break("truncated"),
    "breaks off": Break("short"),
    "hangs up": Break("nothing"),
    "hangs": Slow(30.0, Call("submit")),
}
SUBMIT = Call("shell", {"command": f"{answer(0.75)}; submit"})


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_model_server_is_no_score_and_the_episode_can_go_on(task, start, monkeypatch, how):
    pytest.importorskip("openai")
    monkeypatch.setenv("MLGYM_MODEL_MAX_RETRIES", "2")
    env, waits = start(task, grade=FakeGrade()), Waits()
    reactions = [Call("shell", {"command": "ls"})]
    observation = env.step("true")[0]
    server = ModelServer(lambda request: reactions[0])
    with server:
        agent = agent_on(server, waits, request_timeout=20.0)
        observation = env.step(agent.act(observation))[0]
        reactions[0] = BROKEN[how]
        if how == "refuses connections":
            server.close()
            agent.close()  # or it would go on with the connection that it has
        elif how == "hangs":
            agent._client.timeout = 0.3
        with pytest.raises(ModelServerError, match="failed 3 times"):
            agent.act(observation)
        assert len(waits) == 2
        if how not in ("refuses connections", "hangs"):
            assert len(server.requests) == 5  # the last is the first one again
        # The caller decides: what the agent has not done is not held against it.
        assert env.step("true")[4]["outcome"] == "running"
    reactions[0] = SUBMIT
    with ModelServer(lambda request: reactions[0]) as other:
        successor = agent_on(other)
        successor.set_state(agent.get_state())
        assert ending(env.step(successor.act(observation)))[:2] == ("scored", 0.75)
        assert (successor.usage.calls, successor.usage.retries) == (2, 0)
        successor.close()
    agent.close()


def test_faults_that_pass_are_counted_and_change_nothing(task, start, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("MLGYM_MODEL_MAX_RETRIES", "3")
    script = [Fail(503), Break("short"), Raw([]), SUBMIT]
    env = start(task)
    with ModelServer(lambda request: script[request.number]) as server:
        agent = agent_on(server)
        assert ending(env.step(agent.act(env.step("true")[0])))[:2] == ("scored", 0.75)
        assert (agent.usage.calls, agent.usage.retries) == (1, 3)
        agent.close()


# --- the task ----------------------------------------------------------------------------------


def no_labels(task):
    text = (task / "data.py").read_text()
    (task / "data.py").write_text(text.replace('("validation", "test")', "()"))


CORRUPT = {
    "the grader raises": lambda task: (task / "grader" / "grade.py").write_text("1 / 0"),
    "the grader is missing": lambda task: (task / "grader" / "grade.py").unlink(),
    "labels are missing": no_labels,
    "a package is missing": lambda task: (task / "grader" / "grade.py").write_text(
        "import no_such_package"
    ),
}


@pytest.mark.parametrize("how", CORRUPT)
def test_a_corrupt_task_is_no_score(task, start, how):
    CORRUPT[how](task)
    env = start(task)
    _, reward, *_, info = env.step(f"{answer(1.0)}; validate")
    assert info["validation"]["outcome"] == "infrastructure_fault"
    assert (reward, info["validations"]) == (0.0, 0)
    step = env.step("submit")
    assert (step[1], ending(step)) == (0.0, INFRASTRUCTURE)


def test_a_task_without_a_grader_is_refused_before_anything_runs(task, start):
    shutil.rmtree(task / "grader")
    with pytest.raises(TaskError, match=r"no CSV file is declared.*grade\.py"):
        start(task)


def test_a_damaged_file_is_refused_before_anything_runs(task):
    (task / "task.yaml").write_text((task / "task.yaml").read_text().replace("{memory", "{{memory"))
    with pytest.raises(TaskError, match=r"task\.yaml"):
        ResearchEnv(task)
    (task / "task.yaml").write_bytes(b"id: a\n\xff\xfe")
    with pytest.raises(TaskError, match="UTF-8"):
        load_task(task)


OTHER = "def grade(submission, labels, seed, split): return 1000.0"


@pytest.mark.parametrize(
    "change",
    [
        lambda task: (task / "grader" / "grade.py").write_text(OTHER),
        lambda task: (task / "task.yaml").write_text("damaged"),
        shutil.rmtree,
    ],
    ids=["grader", "file", "gone"],
)
def test_a_task_that_is_changed_during_an_episode_grades_as_it_was(task, start, change):
    env = start(task)
    change(task)
    info = env.step(f"{answer(0.75)}; validate")[4]
    assert info["validation"]["score"] == 0.75
    assert ending(env.step("submit"))[:2] == ("scored", 0.75)


def test_a_task_that_was_changed_is_not_taken_for_what_it_was(task, start):
    env = make(task)
    original = (task / "data.py").read_text()
    (task / "data.py").write_text(original.replace("rng.random()", "42"))
    with pytest.raises(TaskError, match="have changed since"):
        env.reset(seed=3)
    (task / "data.py").write_text(original)
    env.reset(seed=3)
    assert env.step("cat train.csv")[0]["output"] != "42\n"
    env.close()
    (task / "grader" / "grade.py").write_text(OTHER)
    assert ending(start(task).step("submit"))[:2] == ("scored", 1000.0)


# --- the data that is kept ---------------------------------------------------------------------


def labels_of(task, split="test"):
    (found,) = cache_folder("data").glob(f"answers-*/3/{split}/labels.txt")
    return found


def alter(path):
    """Change a byte, and nothing by which that could be seen at a glance."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DAMAGE = {
    "altered": alter,
    "cut": lambda path: path.write_bytes(b""),
    "removed": Path.unlink,
    "all removed": lambda path: shutil.rmtree(path.parent),
    "added to": lambda path: (path.parent / "more.txt").write_text("x"),
    "altered, and its list": lambda path: (
        alter(path),
        (path.parents[1] / "contents.json").write_text("{"),
    ),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_data_that_is_damaged_on_the_disk_is_made_anew(task, start, monkeypatch, how):
    grade = FakeGrade()
    env = start(task, grade=grade)
    labels = labels_of(task)
    truth = labels.read_text()
    DAMAGE[how](labels)
    with pytest.warns(UserWarning, match="damaged on the disk"):
        info = env.step("validate")[4]
    assert info["validation"]["outcome"] == "scored"
    assert labels.read_text() == truth
    DAMAGE[how](labels)
    # As another process, which has never seen it whole.
    monkeypatch.setattr(data_files, "_right", {})
    with pytest.warns(UserWarning, match="damaged on the disk"):
        assert ending(env.step("submit"))[:2] == ("scored", 0.1)
    assert labels.read_text() == truth


def test_a_grader_reads_what_was_made_anew(task, start):
    env = start(task)
    DAMAGE["altered"](labels_of(task))
    grader = next(cache_folder("data").glob("answers-*/grader/grader/grade.py"))
    grader.write_text(OTHER)
    with pytest.warns(UserWarning, match="damaged on the disk"):
        step = env.step("submit")
    assert ending(step)[:2] == ("scored", 0.1)
    assert step[4]["final"]["details"]["labels"] == labels_of(task).read_text()


def test_data_that_cannot_be_made_anew_is_no_score(task, start):
    env = start(task)
    DAMAGE["cut"](labels_of(task))
    (task / "data.py").write_text("raise RuntimeError('gone')")
    with pytest.warns(UserWarning, match="damaged on the disk"):
        step = env.step("submit")
    assert ending(step) == INFRASTRUCTURE
    assert "data.py" in step[4]["reason"]


def test_a_folder_that_was_half_made_is_not_used(task, tmp_path):
    place = tmp_path / "kept" / "x"
    place.mkdir(parents=True)
    (place / "half").touch()
    made = data_files.kept_folder(place, lambda folder: (folder / "whole").write_text("1"))
    assert (made / "whole").read_text() == "1"
    assert not (made / "half").exists()

    def fail(folder):
        raise OSError(28, "No space left on device")

    with pytest.raises(ResearchError, match="No space left"):
        data_files.kept_folder(tmp_path / "kept" / "y", fail)
    assert [path.name for path in place.parent.iterdir()] == ["x"]
