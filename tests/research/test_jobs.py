"""Background jobs of agents, and attacks by them: none runs while anything is graded or stored."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ludus.errors import InvalidAction
from ludus.record import read_run
from ludus.research.episode import jobs as jobs_module
from ludus.research.episode.actions import read_action
from ludus.research.running import job as job_module
from ludus.research.tools.calls import tool_schemas
from tests.research.env_support import FakeGrade, answer, make, size_of, write_task
from tests.research.grading.support import boxed
from tests.research.running.support import answers, fake_grade, record_of, start, write_script

pytestmark = [
    boxed,
    pytest.mark.skipif(os.geteuid() != 0, reason="processes are frozen by root only"),
]
BEAT = "while true; do printf x >> /workspace/beat; sleep 0.01; done"


class Watching(FakeGrade):
    """Grades, and looks meanwhile whether a file in the workspace grows."""

    env = None

    def __init__(self):
        super().__init__()
        self.grew = []

    def __call__(self, task, artefacts, split, seed, *, draw):
        before = size_of(self.env.sandbox, "beat")
        time.sleep(0.4)
        self.grew.append((split, size_of(self.env.sandbox, "beat") - before))
        return super().__call__(task, artefacts, split, seed, draw=draw)


@pytest.fixture
def env(tmp_path):
    grade = Watching()
    made = make(write_task(tmp_path / "answers", max_steps=60), grade=grade)
    grade.env = made
    made.watch = grade
    with made:
        made.reset(seed=0)
        yield made


def do(env, action):
    observation, *_, info = env.step(action)
    return observation["output"], int(observation["exit_code"]), info


def grows(env) -> bool:
    before = size_of(env.sandbox, "beat")
    time.sleep(0.3)
    return size_of(env.sandbox, "beat") > before


def wait_for(env, text: str, seconds: float = 5.0) -> str:
    until = time.monotonic() + seconds
    while text not in (said := do(env, "jobs list")[0]) and time.monotonic() < until:
        time.sleep(0.05)
    assert text in said, said
    return said


def test_a_job_goes_on_between_commands_and_can_be_read_and_stopped(env):
    do(env, "cd /tmp")
    command = "pwd; for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 4"
    call = {"tool": "jobs", "arguments": {"action": "start", "command": command}}
    said, status, info = do(env, call)
    assert (status, said.startswith("Job 1 has started")) == (0, True)
    assert info["jobs"][0]["state"] == "running"
    wait_for(env, "ended with status 4")
    said, _, _ = do(env, "jobs output 1 0")
    assert said.endswith("/tmp\nline 1\nline 2\nline 3\n")
    assert do(env, "jobs output 1 12")[0].endswith("\nline 2\nline 3\n")
    do(env, f"jobs start {BEAT}")
    time.sleep(0.2)
    assert grows(env)
    assert do(env, "true")[1] == 0
    assert grows(env)
    assert "stopped" in do(env, "jobs stop 2")[0]
    assert not grows(env)


def test_what_a_command_leaves_behind_still_ends_with_it(env):
    do(env, f"({BEAT}) & sleep 0.2")
    assert not grows(env)
    do(env, "jobs start true")
    do(env, f"nohup setsid bash -c '{BEAT}' & sleep 0.2")
    assert not grows(env)


def test_jobs_stand_still_while_a_validation_is_graded_and_end_before_the_test(env):
    do(env, f"jobs start {BEAT}")
    do(env, f"{answer(0.5)}; sleep 0.2; validate")
    assert env.watch.grew == [("validation", 0)]
    assert grows(env)
    *_, info = env.step("submit")
    assert env.watch.grew[1:] == [("test", 0)]
    assert info["jobs"][0]["state"] == "stopped: the episode is over"


CONTINUED = r"""
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
void nothing(int n) {}
int main() {
  signal(SIGCONT, nothing);
  for (int i = 1; i < 32; i++) if (i != SIGCONT) signal(i, SIG_IGN);
  struct sigevent e = {0};
  e.sigev_notify = SIGEV_SIGNAL;
  e.sigev_signo = SIGCONT;
  timer_t t;
  timer_create(CLOCK_REALTIME, &e, &t);
  struct itimerspec often = {{0, 20000000}, {0, 20000000}};
  timer_settime(t, 0, &often, 0);
  int beat = open("/workspace/beat", O_WRONLY | O_CREAT | O_APPEND, 0666);
  for (;;) { write(beat, "x", 1); usleep(5000); }
}
"""
VFORKED = r"""
#include <fcntl.h>
#include <unistd.h>
int main() {
  setsid();
  if (vfork() == 0) {
    int beat = open("/workspace/beat", O_WRONLY | O_CREAT | O_APPEND, 0666);
    for (;;) { write(beat, "x", 1); usleep(5000); }
  }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="compiles a program")
@pytest.mark.parametrize("source", [CONTINUED, VFORKED], ids=["continued_by_a_timer", "vforked"])
def test_a_job_that_has_itself_continued(env, tmp_path, source):
    """SIGSTOP would not do: a timer of the job sends it SIGCONT."""
    (tmp_path / "job.c").write_text(source)
    subprocess.run(
        ["gcc", "-static", "-o", tmp_path / "job", tmp_path / "job.c", "-lrt"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    env.sandbox.put(tmp_path / "job", "/workspace/job")
    do(env, "chmod +x job")
    do(env, "jobs start ./job")
    time.sleep(0.3)
    assert grows(env)
    do(env, "validate")
    assert env.watch.grew == [("validation", 0)]
    assert grows(env)
    env.step("submit")
    assert env.watch.grew[1:] == [("test", 0)]


def test_a_job_that_forks_and_forks_away(env):
    """Processes that a job starts, however far away, stand still and end with it."""
    away = f"setsid bash -c '(setsid bash -c \"{BEAT}\" &) &'"
    do(env, f"jobs start {away} & for i in $(seq 20); do :& done; sleep 100")
    time.sleep(0.3)
    assert grows(env)
    do(env, "validate")
    assert env.watch.grew == [("validation", 0)]
    do(env, "jobs stop 1")
    assert not grows(env)


def test_a_checkpoint_sees_files_at_rest_and_a_restored_episode_says_that_jobs_are_gone(env):
    pair = "while true; do n=$((n+1)); printf %8d $n >a; printf %8d $n >b; done"
    do(env, f"jobs start {pair}")
    do(env, f"jobs start {BEAT}")
    time.sleep(0.2)
    taken = []
    from ludus.research.episode import episode_state

    real = episode_state._contents

    def watch(sandbox, place, limit):
        before = size_of(sandbox, "beat")
        time.sleep(0.2)
        taken.append(size_of(sandbox, "beat") - before)
        return real(sandbox, place, limit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(episode_state, "_contents", watch)
        state = env.get_state()
    assert taken == [0, 0]
    assert grows(env)
    env.set_state(state)
    said, _, info = do(env, "echo hi")
    assert said == ("hi\nJobs 1, 2 are gone: the episode was resumed. Start again what you need.\n")
    assert info["jobs"][0]["state"] == "gone: the episode was resumed"
    assert do(env, "echo hi")[0] == "hi\n"
    said, status, _ = do(env, "jobs output 1")
    assert (said, status) == ("Job 1 is gone: the episode was resumed.\n", 1)
    assert "has started" in do(env, "jobs start true")[0]
    assert "Job 3" in do(env, "jobs list")[0]


def test_too_many_jobs(env, monkeypatch):
    for _ in range(jobs_module.MOST_RUNNING):
        assert do(env, "jobs start sleep 100")[1] == 0
    said, status, _ = do(env, "jobs start sleep 100")
    assert (status, "Stop one first" in said) == (1, True)
    do(env, "jobs stop 1")
    assert do(env, "jobs start sleep 100")[1] == 0
    monkeypatch.setattr(jobs_module, "MOST_JOBS", 5)
    do(env, "jobs stop 2")
    assert "used up" in do(env, "jobs start true")[0]


def test_a_flood_of_output_is_bounded(env, monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_WRITTEN", 3 << 20)
    do(env, "jobs start yes")
    wait_for(env, "wrote more than")
    (job,) = env._episode.jobs._jobs
    assert len(job._kept) <= jobs_module.KEPT
    said = do(env, "jobs output 1 0")[0]
    assert "are lost" in said
    assert len(said) < 9000


def test_the_time_of_a_job_and_of_the_episode(env):
    do(env, {"tool": "jobs", "arguments": {"action": "start", "command": BEAT, "seconds": 1}})
    wait_for(env, "its time was over")
    assert not grows(env)
    env._episode.seconds = env.limits.seconds - 1
    assert "may run for 1 s" in do(env, f"jobs start {BEAT}")[0]
    time.sleep(1.5)
    assert not grows(env)
    *_, truncated, info = env.step("true")
    assert (truncated, info["end"]) == (True, "time")


def test_memory_and_processes_are_those_of_the_sandbox(env):
    do(env, "jobs start python3 -c 'x = bytearray(400 << 20); input()'")
    wait_for(env, "ended with status")
    assert do(env, "echo alive")[0] == "alive\n"


@pytest.mark.parametrize(
    "action",
    [
        "jobs start", "jobs output", "jobs output x", "jobs stop -1", "jobs list now",
        "jobs output 1 2 3", "jobs stop 99", "jobs output 7",
        {"tool": "jobs", "arguments": {}}, {"tool": "jobs", "arguments": {"action": "fly"}},
        {"tool": "jobs", "arguments": {"action": "start"}},
        {"tool": "jobs", "arguments": {"action": "start", "command": 3}},
        {"tool": "jobs", "arguments": {"action": "start", "command": "a\0b"}},
        {"tool": "jobs", "arguments": {"action": "stop", "job": "1"}},
        {"tool": "jobs", "arguments": {"action": "stop", "job": -1}},
        {"tool": "jobs", "arguments": {"action": "output", "job": True}},
        {"tool": "jobs", "arguments": {"action": "list", "speed": 1}},
    ],
)  # fmt: skip
def test_wrong_calls_are_told(env, action):
    said, status, _ = do(env, action)
    assert status in (1, 2)
    assert said.strip()


def test_the_tool_is_offered_and_the_shells_own_jobs_still_work():
    assert "jobs" in [tool["function"]["name"] for tool in tool_schemas()]
    for text in ("jobs", "jobs -l", "jobs; jobs start x", "echo jobs start x"):
        assert read_action(text).job is None
    with pytest.raises(InvalidAction):
        read_action({"tool": 3})


def test_a_job_in_a_folder_that_is_gone(env):
    do(env, "mkdir x; cd x; rmdir ../x")
    assert "cannot be started" in do(env, "jobs start true")[0]
    assert do(env, "cd; echo alive")[0].endswith("alive\n")


def test_the_record_tells_of_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    script = [f"jobs start {BEAT}", "sleep 0.2; validate", "jobs stop 1", "submit"]
    agent_options = {"file": write_script(tmp_path / "script.json", script)}
    out = tmp_path / "run"
    start(answers(tmp_path), "scripted", out, agent_options=agent_options)
    steps = [event.data for event in read_run(record_of(out)).events if event.kind == "step"]
    states = [step["jobs"][0]["state"] for step in steps]
    assert states == ["running", "running", "stopped", "stopped"]
    assert steps[0]["jobs"][0]["command"] == BEAT


def test_an_owner_that_is_killed_while_jobs_are_frozen(tmp_path):
    """Frozen processes do not end by themselves: the next sweep thaws and ends them."""
    script = tmp_path / "owner.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(Path.cwd())!r})
        from tests.research.env_support import FakeGrade, make, write_task
        env = make(write_task(Path({str(tmp_path)!r}) / "answers"), grade=FakeGrade())
        env.reset(seed=0)
        env.step("jobs start sleep 600")
        freezer = env.sandbox.freezer()
        assert freezer.freeze()
        print(freezer.folder, flush=True)
        time.sleep(60)
    """)
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as owner:
        folder = Path(owner.stdout.readline().strip())
        owner.send_signal(signal.SIGKILL)
        owner.wait(10)
    assert folder.name.startswith("ludus-")
    pids = (folder / "cgroup.procs").read_text().split() if folder.exists() else []
    from ludus.sandbox import sweep

    sweep()
    assert not folder.exists()
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


PASS_ON = """
import array, socket, sys, time
made = socket.socket(socket.AF_UNIX)
if sys.argv[1] == "give":
    made.bind("/workspace/socket"); made.listen(); other, _ = made.accept()
    other.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])
else:
    while made.connect_ex("/workspace/socket"): time.sleep(0.01)
    _, fds, _, _ = socket.recv_fds(made, 1, 1)
    with open(fds[0], "wb", 0) as pipe:
        while True: pipe.write(b"x" * 65536)
"""


def test_a_job_that_hands_its_output_to_another(env, monkeypatch):
    """The other one's flood is bounded too, and the one that has ended has ended."""
    monkeypatch.setattr(jobs_module, "MOST_WRITTEN", 3 << 20)
    env.sandbox.write_bytes("/workspace/pass_on.py", PASS_ON.encode())
    do(env, "jobs start python3 pass_on.py give")
    do(env, "jobs start python3 pass_on.py take")
    first = env._episode.jobs._jobs[0]
    first.join(20)
    assert not first.is_alive
    # The flood can begin before the first one has ended.
    assert re.search("Job 1: (ended with status 0|killed: it wrote more)", do(env, "jobs list")[0])
    assert first.plain()["bytes"] <= jobs_module.MOST_WRITTEN + (2 << 20)


@pytest.mark.parametrize("command", ["true " + "x" * 300_000, "echo \ud800"])
def test_commands_that_no_program_is_started_with(env, command):
    said, _, info = do(env, {"tool": "jobs", "arguments": {"action": "start", "command": command}})
    assert info["end"] == "", said
    assert do(env, "echo alive")[0].endswith("alive\n")


def test_jobs_that_end_while_they_are_frozen_and_begin_many_processes(env):
    do(env, "jobs start for i in $(seq 200); do sleep 60 & done; wait")
    do(env, f"jobs start {BEAT}")
    time.sleep(0.3)
    do(env, "validate")
    assert env.watch.grew == [("validation", 0)]
    assert do(env, "echo alive")[0].endswith("alive\n")
    *_, info = env.step("submit")
    assert {row["state"] for row in info["jobs"]} == {"stopped: the episode is over"}
    assert env.watch.grew[1:] == [("test", 0)]


def test_what_a_command_left_behind_ends_no_job(env):
    """Its remains are children of the shell that is frozen."""
    do(env, f"jobs start {BEAT}")
    untold = 'builtin() { [[ $1 == kill ]] || command builtin "$@"; }; '
    do(env, f"{untold} for i in 1 2 3; do setsid sleep 100 & done; sleep 0.2; validate")
    assert env.watch.grew == [("validation", 0)]
    assert do(env, "echo alive")[2]["jobs"][0]["state"] == "running"
    assert grows(env)
