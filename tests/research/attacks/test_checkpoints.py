"""Workspaces and agents that want the host's memory or disk by way of checkpoints."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import psutil
import pytest

from ludus.errors import StateError
from ludus.research.episode import episode_state
from ludus.research.running import job as job_module
from ludus.research.running.resuming import LARGEST, Checkpoints
from tests.research.attacks.rights import drop_rights_over_files
from tests.research.env_support import FakeGrade, make, write_task
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
def env(tmp_path):
    with make(write_task(tmp_path / "answers"), grade=FakeGrade()) as env:
        env.reset(seed=3)
        yield env


# Names that are no text, below folders that have such names too.
LONG = """\
import os
name = b"\\xff" * 250
for depth in range({levels}):
    os.mkdir(name)
    os.chdir(name)
for n in range({files}):
    open(name[:-4] + b"%04d" % n, "w").close()
"""
BOMBS = {
    "long names, deep down": LONG.format(levels=50, files=1_600),
    "many files": "for n in range(2_000): open(str(n), 'w').close()",
    "many levels": "import os\nfor n in range(100): os.mkdir('d'); os.chdir('d')",
    "long links": "import os\nfor n in range(9_000): os.symlink('x' * 4000, str(n))",
    "holes": "open('hole', 'w').truncate(1 << 40)",
}


def explode(env, bomb):
    """Lay a bomb in the places that a state holds; the box's own disk need not hold it."""
    env.sandbox.write_bytes("bomb.py", BOMBS[bomb].encode())
    for place in ("/workspace", "/tmp"):
        env.step(f"cd {place} && python /workspace/bomb.py; cd /workspace")


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_workspace_that_explodes_is_refused_while_it_is_copied(tmp_path, bomb, monkeypatch):
    policy = {"disk": "96M", "tmp": "96M", "memory": "512M"}
    task = write_task(tmp_path / "answers")
    with make(task, grade=FakeGrade(), policy=policy) as env:
        env.reset(seed=3)
        explode(env, bomb)
        monkeypatch.setattr(episode_state, "_ENTRIES", 1_500)
        monkeypatch.setattr(episode_state, "_NAMES", 8 << 20)
        assert Checkpoints(tmp_path / "kept").save("box-0", env) is None
        # Whoever asks for the state is told why.
        with pytest.raises(StateError, match="holds too much for a state"):
            env.get_state()
        assert env.step("true")[4]["outcome"] == "running"


def test_a_few_hundred_long_names_take_no_more_than_their_bytes(env, tmp_path):
    """Escaped and with all folders in front, they once took a hundred times as much."""
    env.sandbox.write_bytes("bomb.py", LONG.format(levels=50, files=300).encode())
    env.step("python bomb.py")
    kept = Checkpoints(tmp_path / "kept")
    assert kept.save("box-0", env) is not None
    assert (tmp_path / "kept" / "box-0").stat().st_size < 300 * 2 * 4096 * 2


def test_what_a_state_may_hold_is_bounded_by_its_bytes(env):
    env.step("head -c 100000 /dev/zero > zeros")
    env.state_bytes = 90_000
    with pytest.raises(StateError, match="more than 90,000 bytes"):
        env.get_state()
    env.state_bytes = 200_000
    env.set_state(env.get_state())
    assert env.step("wc -c < zeros")[0]["output"] == "100000\n"


def run_with(tmp_path, monkeypatch, actions, **fields):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    script = write_script(tmp_path / "s.yaml", [*actions, set_answer(0.9), "submit"])
    done = start(
        answers(tmp_path), "scripted", tmp_path / "run", agent_options={"file": script}, **fields
    )
    (result,) = done.results
    return result, record_of(tmp_path / "run")


def test_an_episode_whose_checkpoints_cannot_be_made_goes_on(tmp_path, monkeypatch):
    command = f"python - <<'END'\n{BOMBS['many levels']}\nEND"
    result, record = run_with(tmp_path, monkeypatch, [command])
    assert (result.outcome, result.score) == ("scored", 0.8)
    assert "fault" not in kinds(record)


def test_a_full_disk_of_the_host_ends_no_episode(tmp_path, monkeypatch):
    """Files of this process may not grow beyond what a record needs."""

    def work():
        size = 1 << 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        result, record = run_with(tmp_path, monkeypatch, ["head -c 4M /dev/urandom > big"])
        assert (result.outcome, result.score) == ("scored", 0.8)
        assert "fault" not in kinds(record)

    assert in_child(work) == 0


def test_no_room_for_a_draft_leaves_nothing_behind(tmp_path, env, monkeypatch):
    kept = Checkpoints(tmp_path / "kept")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert kept.save("box-0", env) is None
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_folder_that_nobody_may_read_is_left_out(tmp_path, env):
    env.step("mkdir closed; chmod 000 closed /tmp")

    def look():
        drop_rights_over_files()
        assert Checkpoints(tmp_path / "kept").save("box-0", env) is None

    assert in_child(look) == 0


@pytest.mark.parametrize(
    "state",
    ["1 / 0", "[0] * 10**9", "{'a': object()}", "bytes(1 << 28)"],
)
def test_an_agent_whose_state_cannot_be_kept_goes_on(tmp_path, monkeypatch, state):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    source = f"""
class Agent:
    def __init__(self):
        self.actions = iter({[set_answer(0.9), "submit"]!r})
    def act(self, observation):
        return next(self.actions)
    def get_state(self):
        return {state}
    def set_state(self, state):
        pass
"""
    (tmp_path / "mine.py").write_text(source)

    def work():
        # So that an agent that wants too much gets a MemoryError, and the machine no trouble. What
        # the tests before this one have mapped counts as well.
        most = psutil.Process().memory_info().vms + (4 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        done = start(answers(tmp_path), f"me={tmp_path / 'mine.py'}:Agent", tmp_path / "run")
        (result,) = done.results
        assert (result.outcome, result.score) == ("scored", 0.8), result
        assert result.extra["faults"] == []

    assert in_child(work) == 0


def test_the_checkpoints_of_an_episode_take_a_bounded_share_of_the_disk(tmp_path, monkeypatch):
    seen, real = [], Checkpoints.save

    def watched(self, name, owner, **more):
        made = real(self, name, owner, **more)
        files = list(self._folder.iterdir()) if self._folder.is_dir() else []
        seen.append((len(files), max((file.stat().st_size for file in files), default=0)))
        return made

    monkeypatch.setattr(Checkpoints, "save", watched)
    actions = [f"head -c 1M /dev/urandom > file{n}" for n in range(5)]
    run_with(tmp_path, monkeypatch, actions)
    assert max(count for count, _ in seen) <= 4
    assert max(size for _, size in seen) <= LARGEST
    assert not list(Path(tempfile.gettempdir()).glob("*.draft"))
