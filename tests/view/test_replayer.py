from __future__ import annotations

import os
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

import ludus
from ludus.view.model.recording import open_recording, stamp_of
from ludus.view.replaying.child import Child
from ludus.view.replaying.limits import WorkerLimits, worker_environment
from ludus.view.replaying.messages import WorkerFailed
from ludus.view.replaying.replayer import NotDrawnYet, Record, Replayer, ReplayFailed
from tests.view import odd_envs
from tests.view.recordings import record_single

ODD = [odd_envs.__name__]
ROOT = str(Path(__file__).parents[2])


@pytest.fixture(autouse=True)
def find_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ROOT)
    with odd_envs.registered():
        yield


@pytest.fixture
def replayer():
    made = Replayer(WorkerLimits(request_seconds=20), imports=ODD)
    yield made
    made.close()


def of(path):
    return Record(path, stamp_of(path))


def ended(pid):
    """Whether a process has ended, soon."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_frames_states_and_observations_come_from_a_worker(tmp_path, replayer):
    path = record_single("CartPole-v1", tmp_path / "run", episodes=2)
    record, recording = of(path), open_recording(path)
    shown = recording.episode(1)
    with pytest.raises(ReplayFailed, match="not asked for"):
        replayer.frame(record, shown.moment(0), 0, shown.moment(3))
    replayer.allow(record)
    frame = replayer.frame(record, shown.moment(0), 0, shown.moment(shown.episode.length))
    assert frame.kind == "png"
    with Image.open(BytesIO(frame.content)) as image:
        assert image.size == (600, 400)
    (pid,) = replayer.pids
    # Those after it were drawn along: no further request.
    os.kill(pid, 19)
    for t in range(min(32, shown.episode.length)):
        assert replayer.frame(record, shown.moment(t), 0, shown.moment(t)).difference is None
    os.kill(pid, 18)
    (tmp_path / "state").write_bytes(replayer.state(record, shown.moment(2)))
    env = ludus.make("CartPole-v1")
    env.reset(seed=0)
    ludus.load_state(tmp_path / "state", env)
    table = replayer.observations(record, [shown.moment(1), shown.moment(2)], 0)
    assert table.shape == (2, 4)
    assert table[1] == pytest.approx(env.get_wrapper_attr("state"), rel=1e-6)
    assert replayer.about(record)["fps"] == 50
    with pytest.raises(ReplayFailed, match="no row|has .* rows"):
        replayer.state(record, 10**9)
    replayer.close()
    assert ended(pid)


@pytest.mark.parametrize("name", ["Hungry", "Endless", "Crash"])
def test_an_environment_cannot_take_more_than_its_worker_may(tmp_path, name):
    replayer = Replayer(WorkerLimits(memory=2**30), imports=ODD)
    try:
        record = of(odd_record(tmp_path, name))
        replayer.allow(record)
        assert replayer.frame(record, 1, 0, 1).kind == "png"
        if name == "Endless":  # not from the start, which takes long on a busy machine
            (worker,) = replayer._workers.values()
            worker.limits = replace(worker.limits, request_seconds=0.5)
        reason = {"Hungry": "memory|allocate", "Endless": "than 0.5 s", "Crash": "exit code 7"}
        with pytest.raises(ReplayFailed, match=reason[name]):
            replayer.frame(record, 9, 0, 9)
        # The viewer goes on.
        assert replayer.frame(record, 3, 0, 3).kind == "png"
    finally:
        replayer.close()


def odd_record(folder, name):
    """Record an environment that misbehaves only later."""
    cls = getattr(odd_envs, f"{name}Env")
    path = folder / name
    env = ludus.record.RecordEpisodes(ludus.make(f"ViewOdd/{name}-v0"), path)
    patched = cls.step
    cls.step = odd_envs.DriftEnv.step
    try:
        env.reset(seed=0)
        for _ in range(6):
            env.step(0)
        env.close()
    finally:
        cls.step = patched
    return path


def test_a_long_way_is_gone_in_several_requests(tmp_path):
    path = tmp_path / "run"
    env = ludus.record.RecordEpisodes(ludus.make("Pendulum-v1"), path)
    for number in range(10):
        env.reset(seed=0 if number == 0 else None)
        for _ in range(200):
            env.step([0.5])
    env.close()
    replayer = Replayer()
    record = of(path)
    replayer.allow(record)
    reached = []
    try:
        for _ in range(1000):
            try:
                request = {"op": "state", "moment": 3_999, "seconds": 0.0}
                replayer._ask(record, request)
                break
            except NotDrawnYet as problem:
                reached.append(problem.row)
    finally:
        replayer.close()
    assert reached[-1] > 1900
    assert reached == sorted(set(reached))


def test_workers_that_nobody_asks_are_ended(tmp_path):
    path = record_single("CartPole-v1", tmp_path / "run", episodes=1)
    replayer = Replayer(WorkerLimits(idle_seconds=0.4))
    record = of(path)
    replayer.allow(record)
    replayer.about(record)
    (pid,) = replayer.pids
    assert ended(pid)
    assert replayer.pids == []
    assert replayer.frame(record, 1, 0, 1).kind == "png"
    replayer.close()


def test_records_of_unknown_environments_are_not_executed(tmp_path, replayer):
    path = odd_record(tmp_path, "Drift")
    replayer = Replayer()  # imports nothing
    record = of(path)
    replayer.allow(record)
    with pytest.raises(ReplayFailed, match="not known here"):
        replayer.frame(record, 1, 0, 1)
    replayer.close()


def test_a_worker_sees_neither_keys_nor_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("LUDUS_STORE", "postgresql://user:password@host/database")
    assert not {"OPENAI_API_KEY", "LUDUS_STORE"} & worker_environment().keys()
    (tmp_path / "numpy.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH")
    child = Child("ludus.view.playing.worker", {}, WorkerLimits())
    answer = child.ask({"op": "inspect", "id": "CartPole-v1", "spec": None})
    assert answer.data["action_space"] == "Discrete(2)"
    pid = child.pid
    child.close()
    assert ended(pid)
    with pytest.raises(WorkerFailed):
        child.ask({"op": "inspect", "id": "CartPole-v1"})
