from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ludus.bench.agents import parse_agent
from ludus.bench.engines import SerialEngine, open_engine
from ludus.bench.engines.processes import ProcessEngine, WorkerHandle
from ludus.bench.planning.budget import Budget
from ludus.bench.planning.plan import Unit
from ludus.bench.running.execute import UnitJob
from ludus.errors import BenchError
from ludus.record import read_run
from tests.bench import players

LINE = "tests.bench.players:tests-Line-v0"


@pytest.fixture(scope="module")
def engine():
    with ProcessEngine(1) as engine:
        yield engine


@pytest.fixture
def job(tmp_path):
    def make(agent, env="CartPole-v1", **options):
        kwargs = options.pop("kwargs", {})
        budget = Budget(episodes=2, **options)
        unit = Unit("s", "d", parse_agent(agent), env, 1, budget, kwargs)
        return UnitJob(unit, "run", str(tmp_path))

    return make


def do(engine, job):
    engine.submit(job)
    done = engine.wait(60)
    assert done.job is job
    return done


def is_gone(pid):
    """Whether no such process runs; one that is dead and not waited for does not."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def comparable(result):
    return {k: v for k, v in result.to_dict().items() if k not in ("seconds", "created", "head")}


def test_processes_and_this_one_give_the_same(engine, job, tmp_path):
    for agent in ("random", players.careless, "batch:3:tests.bench.players:batch_policy"):
        work = job(agent)
        with SerialEngine() as serial:
            here = do(serial, work).result
        there, again = do(engine, work).result, do(engine, work).result
        assert here.outcome == "scored"
        assert comparable(here) == comparable(there) == comparable(again)
        assert read_run(tmp_path / again.record).head == again.head


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (players.raises, "act() raised RuntimeError: I cannot go on"),
        (players.invalid, "invalid action 7 for Discrete(2)"),
        (players.leaves, "act() raised SystemExit: 3"),
        (players.is_none, "A int is no agent"),
        ("tests.bench.players:nothing", "has no 'nothing'"),
        ({"use": "tests.bench.players:Pusher", "options": {"prize": 1}}, "TypeError"),
        ({"use": "tests.bench.players:Pusher", "options": {"price": -1.0}}, "told a cost of -1.0"),
    ],
)  # fmt: skip
def test_faults_of_the_agent(engine, job, tmp_path, agent, words):
    result = do(engine, job(agent)).result
    assert result.outcome == "agent_fault"
    assert result.score is None
    assert words in result.reason
    reader = read_run(tmp_path / result.record)
    assert reader.closed
    assert reader.head == result.head


def test_an_agent_that_ends_its_process(engine, job, tmp_path):
    result = do(engine, job(players.exits)).result
    assert (result.outcome, result.reason) == (
        "agent_fault",
        "ended its process: it ended with exit code 5",
    )
    assert read_run(tmp_path / result.record).closed


def test_an_agent_that_takes_too_long_is_killed_with_all_it_started(engine, job, tmp_path):
    path = tmp_path / "pids"
    agent = {"use": "tests.bench.players:Childbearing", "options": {"path": str(path)}}
    result = do(engine, job(agent, max_seconds=0.5)).result
    assert (result.outcome, result.reason) == ("agent_fault", "exceeded its time of 0.5 s")
    assert read_run(tmp_path / result.record).closed
    assert all(is_gone(int(pid)) for pid in path.read_text().split())


def test_time_is_looked_at_between_actions_where_nobody_can_be_killed(job):
    with SerialEngine() as serial:
        result = do(serial, job("tests.bench.players:Slow", max_seconds=0.01)).result
    assert (result.outcome, result.reason) == ("agent_fault", "exceeded its time of 0.01 s")


def test_a_killed_worker_is_reported_and_replaced(engine, job, tmp_path):
    done = do(engine, job(players.is_killed))
    assert done.result is None
    assert done.fault == "the worker was killed by SIGKILL (out of memory?)"
    assert done.playing
    assert do(engine, job("random")).result.outcome == "scored"


def test_an_idle_worker_that_dies_is_replaced(job):
    with ProcessEngine(1) as engine:
        do(engine, job("random"))
        (worker,) = engine._idle
        os.kill(worker.pid, signal.SIGTERM)
        assert is_gone(worker.pid)
        assert do(engine, job("random")).result.outcome == "scored"


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"no_such": 1}, "cannot be made: InvalidArgument"),
        ({"breaks_at": 4}, "the environment raised ValueError: the environment is broken"),
        ({"pays": float("inf")}, "paid inf"),
    ],
)
def test_faults_of_the_environment_are_no_agents(engine, job, tmp_path, kwargs, words):
    work = job("random", LINE, kwargs=kwargs)
    done = do(engine, work)
    assert done.result is None
    assert words in done.fault
    assert done.playing == ("made" not in words)
    result = work.give_up(done.fault, 1, playing=done.playing)
    assert (result.outcome, result.record) == ("infrastructure_fault", None)
    assert not list((tmp_path / "records").glob("*"))


def test_a_full_disk_is_nobodys_fault(job, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ludus.bench.running.execute._LentEpisodes", full)
    with SerialEngine() as serial:
        assert "No space left" in do(serial, job("random")).fault


def test_limits_of_a_unit_end_it_with_what_is_finished(job):
    with SerialEngine() as serial:
        result = do(serial, job("random", LINE, max_steps=15)).result
        assert (result.episodes, result.steps, result.extra["stopped"]) == (1, 15, "max_steps")
        agent = {"use": "tests.bench.players:Pusher", "options": {"price": 0.25}}
        result = do(serial, job(agent, LINE, max_cost=3)).result
        assert (result.episodes, result.steps, result.cost) == (1, 13, 3.25)
        assert result.extra["curve"] == [[10, 10.0]]
        result = do(serial, job("random", LINE, max_steps=5)).result
        assert result.reason == "max_steps was used up before an episode was over"


def test_steps_instead_of_episodes(job):
    work = job("random", LINE)
    budget = Budget(steps=25)
    unit = Unit("s", "d", work.unit.agent, LINE, 1, budget)
    batch = Unit("s", "d", parse_agent("batch:3:random"), LINE, 1, Budget(episodes=7))
    with SerialEngine() as serial:
        result = do(serial, UnitJob(unit, "run", work.folder)).result
        assert (result.episodes, result.steps) == (3, 30)
        result = do(serial, UnitJob(batch, "run", work.folder)).result
        assert (result.episodes, result.score) == (7, 10.0)


def test_closing_leaves_nothing_behind(job):
    engine = ProcessEngine(1)
    engine.submit(job(players.hangs))
    assert engine.wait(0.0) is None
    with pytest.raises(BenchError, match="busy"):
        engine.submit(job("random"))
    (worker,) = engine._busy
    engine.close()
    assert is_gone(worker.pid)


def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from ludus.bench.engines.processes import WorkerHandle\n"
        "worker = WorkerHandle(None, '')\n"
        "print(worker.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    assert is_gone(pid)


def test_engines_by_name():
    with pytest.raises(BenchError, match="processes, serial"):
        open_engine("ray")
    with pytest.raises(BenchError, match="at least 1"):
        open_engine("processes", workers=0)
    with pytest.raises(BenchError, match="one worker"):
        open_engine("serial", workers=2)


def test_a_job_for_a_worker_that_its_agent_has_stopped():
    """Sending it must not wait: the runner has other workers to look after."""
    worker = WorkerHandle(None, "a")
    try:
        os.kill(worker.pid, signal.SIGSTOP)
        sending = threading.Thread(target=worker.send, args=(b"x" * 2**20,), daemon=True)
        sending.start()
        sending.join(60)
        assert not sending.is_alive()
    finally:
        worker.kill()
