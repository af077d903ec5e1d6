"""Boxes of container engines: the same scores, the same tools, and the same things hidden."""

from __future__ import annotations

import os
import shutil
from functools import cache
from itertools import product

import pytest

from ludus.errors import DataMissing
from ludus.research import ResearchEnv, load_task
from ludus.research.data.data_cache import CachedTask
from ludus.research.data.hiding import hidden_paths
from ludus.research.data.preparation import null_submission
from ludus.research.grading import Artefacts, grade
from ludus.research.task.discovery import BUNDLED
from tests.research.env_support import SECRET, answer, write_task
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
from tests.research.support import SAMPLES
from tests.research.tasks.playing import play, played
from tests.sandbox.support import needs, why_not

pytestmark = needs("bubblewrap", root=True)

DEFAULT = "bubblewrap"
CONTAINERS = ("podman", "docker")
ENGINES = (*CONTAINERS, "gvisor")
# Those that can be played here have a record of their scores.
TASKS = sorted(file.parent.name for file in BUNDLED.glob("*/scores.json"))
# A kernel of its own for every command takes its time.
FEW = [name for name in ("digits", "titanic_survival") if name in TASKS]
CASES = [*product(CONTAINERS, TASKS), *product(["gvisor"], FEW)]


@pytest.fixture(params=ENGINES)
def engine(request):
    return available(request.param)


@pytest.fixture(params=CONTAINERS)
def container(request):
    return available(request.param)


def available(backend):
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")
    return backend


# --- scores ------------------------------------------------------------------------------------


@cache
def prepared(name):
    """Return a bundled task at seed 0 and something to hand in: a solution, or the null."""
    task = CachedTask.of(load_task(BUNDLED / name))
    try:
        workspace = task.prepared(0).workspace
    except DataMissing as problem:
        pytest.skip(f"{name}: {problem}")
    paths = [item.path for item in task.submission]
    if all((task.task.reference / path).is_file() for path in paths):
        return task, Artefacts({path: (task.task.reference / path).read_bytes() for path in paths})
    return task, Artefacts(null_submission(task.task, workspace))


@cache
def graded(name, backend):
    task, artefacts = prepared(name)
    outcome = grade(task, artefacts, "test", 0, backend=backend)
    assert outcome.kind == "scored", outcome
    return outcome.score


@pytest.mark.parametrize(("backend", "name"), CASES)
def test_a_grading_gives_the_same_score(backend, name):
    available(backend)
    assert graded(name, backend) == graded(name, DEFAULT)


def test_an_episode_gives_the_same_scores(engine):
    total, info = play("titanicSurvival", "baseline", backend=engine, validate=True)
    expected, default = played("titanicSurvival", "baseline")
    assert (info["outcome"], info["score"]) == ("scored", default["score"])
    assert info["validation_score"] is not None
    assert total == pytest.approx(expected)


# --- what a box shows --------------------------------------------------------------------------

HIDDEN = ["numpy:testing", "/usr/share/doc", "/usr/lib/os-release"]
PROBE = """
import os

def look(paths):
    found = []
    for path in paths:
        try:
            inside = os.listdir(path) if os.path.isdir(path) else open(path).read()
        except OSError:
            continue
        if inside:
            found.append(path)
    return found
"""
ASKS = f"""
# {SECRET}
from ludus.research.grading import Score

def grade(submission, labels, seed, split):
    paths = (labels / "paths.txt").read_text().splitlines()
    found = submission.code("probe.py").call("look", paths, returns=list)
    return Score(float(len(found)), {{"found": found, "asked": len(paths)}})
"""
DATA = """
def build(folder, seed):
    for split in ("validation", "test"):
        (folder / split / "paths.txt").write_text(PATHS)
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Make an environment, begin an episode, and close it in the end."""
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    made = []

    def begin(task, backend):
        made.append(ResearchEnv(task, backend=backend))
        made[-1].reset(seed=3)
        return made[-1]

    yield begin
    for env in made:
        env.close()


def write_probing(folder):
    """Write a task whose submission says which places it can look into; return these too."""
    write_task(folder)
    text = (folder / "task.yaml").read_text()
    text = text.replace("{path: answer.json, kind: json", "{path: probe.py, kind: code")
    (folder / "task.yaml").write_text(f"{text}packages: [numpy, ludus]\nhidden: {HIDDEN}\n")
    (folder / "workspace" / "probe.py").write_text(PROBE)
    (folder / "grader" / "grade.py").write_text(ASKS)
    paths = [str(path) for path in hidden_paths(load_task(folder))]
    paths += ["/ludus/packages/ludus/research/tasks", os.environ["LUDUS_CACHE"], "/usr/bin"]
    (folder / "data.py").write_text(DATA.replace("PATHS", repr("\n".join(paths))))
    return paths


def test_what_is_hidden_is_so_for_agents_and_for_what_they_hand_in(tmp_path, engine, start):
    paths = write_probing(tmp_path / "probing")
    assert len(paths) >= len(HIDDEN) + 4
    env = start(tmp_path / "probing", engine)
    env.sandbox.write_bytes("ask.py", f"import probe\nprint(probe.look({paths}))\n".encode())
    assert env.step("python ask.py")[0]["output"] == "['/usr/bin']\n"
    skipped = "--exclude-dir={proc,sys,usr,.venv,versions}"
    hunt = f"timeout 20 grep -rlsa -e {SECRET} / {skipped}; echo over"
    assert env.step(hunt)[0]["output"] == "over\n"
    info = env.step("submit")[4]
    assert info["outcome"] == "scored", info["reason"]
    assert info["final"]["details"] == {"found": ["/usr/bin"], "asked": len(paths)}


def test_tools_and_packages_are_there(tmp_path, engine, start):
    folder = write_task(tmp_path / "answers")
    with (folder / "task.yaml").open("a") as file:
        file.write("packages: [numpy, ludus]\n")
    env = start(folder, engine)
    env.step("create main.py <<'EOF'\nimport numpy, ludus.codec\nx = 1\nEOF")
    change = {"tool": "edit", "arguments": {"lines": "2:2", "text": "print(numpy.ones(3).sum())"}}
    assert env.step(change)[0]["open_file"] == "/workspace/main.py"
    assert env.step("cd /tmp; python /workspace/main.py")[0]["output"] == "3.0\n"
    assert env.step("memory_write kept; memory_read")[0]["output"].endswith("1. kept\n")
    for path in ("/ludus/tools/bin/submit", "/ludus/packages/ludus/x", "/usr/bin/x"):
        assert env.step(f"echo x > {path}")[0]["exit_code"] != 0
    info = env.step(f"{answer(0.75)}; validate")[4]
    assert info["validation"]["score"] == 0.75
    state = env.get_state()
    env.step(answer(0.0))
    env.set_state(state)
    assert env.step("submit")[4]["score"] == 0.75


# --- what a box survives -----------------------------------------------------------------------


def test_a_container_that_is_killed_is_no_score(tmp_path, container, start):
    env = start(write_task(tmp_path / "answers"), container)
    box = env.sandbox

    def interfere():
        wait_for(lambda: has_begun(box))
        kill(supervisors(box))

    with meanwhile(interfere):
        info = env.step("touch begun; sleep 60")[4]
    assert (info["outcome"], info["score"], info["end"]) == ("infrastructure_fault", None, "box")
    env.reset()
    box._entrance._launcher.wait()
    env.sandbox._entrance._launcher.kill()
    assert env.step("submit")[4]["outcome"] == "infrastructure_fault"


def test_a_container_that_is_killed_in_a_grading_is_not_held_against_what_ran_in_it(
    tmp_path, container, start, monkeypatch
):
    folder = tmp_path / "guess"
    shutil.copytree(SAMPLES / "guess_number", folder)
    (folder / "grader" / "grade.py").write_text(SLOW_GRADER)
    env = start(folder, container)
    env.sandbox.write_bytes("guess.py", SLOW_CODE.encode())
    killer = Killer(monkeypatch, "code", times=2)
    info = env.step("validate")[4]
    assert info["validation"]["outcome"] == "infrastructure_fault"
    assert env.step("validate")[4]["validation"]["score"] == 7.0
    killer.join()
    env.sandbox.write_bytes("guess.py", b"import os\ndef guess(*args): os.kill(os.getpid(), 9)\n")
    assert env.step("submit")[4]["outcome"] == "agent_fault"
