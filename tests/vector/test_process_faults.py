"""Workers that raise, exit, are killed or hang; parents that are killed; and what is left over."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import psutil
import pytest

from ludus.core import AutoresetMode
from ludus.errors import ClosedEnvironmentError, WorkerCrashed, WorkerRaised
from ludus.testing.envs import CounterEnv, FaultyEnv
from ludus.vector import AsyncVectorEnv
from tests.sampling import ALL

ONES = np.ones(4, int)


def build(fault, at_step=2, **options):
    faulty = functools.partial(FaultyEnv, fault, at_step)
    return AsyncVectorEnv([CounterEnv, CounterEnv, faulty, CounterEnv], num_workers=2, **options)


def until_fault(envs, steps=5):
    envs.reset(seed=20)
    for _ in range(steps):
        envs.step(ONES)


def test_raise_keeps_type_and_tells_where():
    with build("raise") as envs:
        with pytest.raises(RuntimeError, match="as configured") as caught:
            until_fault(envs)
        note = "\n".join(caught.value.__notes__)
        assert "environment 2 (seed 22, last action" in note
        assert "_fail_if_due" in note
        # The workers live on; a reset makes everything usable again.
        envs.reset(seed=1)
        envs.step(ONES)


class UnpicklableError(Exception):
    def __init__(self, first, second):
        super().__init__(first)


class RaisesOddly(CounterEnv):
    def step(self, action):
        raise UnpicklableError("odd", 1)


def test_exception_that_cannot_travel():
    with AsyncVectorEnv([RaisesOddly] * 2) as envs:
        envs.reset(seed=3)
        with pytest.raises(WorkerRaised, match="UnpicklableError: odd") as caught:
            envs.step(np.ones(2, int))
        assert caught.value.env_index == 0
        assert caught.value.seed == 3
        assert "test_process_faults" in caught.value.remote_traceback


@pytest.mark.parametrize(
    ("fault", "words", "code"),
    [("exit", "exit code 3", 3), ("kill", "signal SIGKILL", -signal.SIGKILL)],
)
def test_death_is_certified_and_closes(fault, words, code):
    envs = build(fault)
    workers = [process.pid for process in envs.processes]
    with pytest.raises(WorkerCrashed, match=words) as caught:
        until_fault(envs)
    problem = caught.value
    assert (problem.env_index, problem.seed, problem.exit_code) == (2, 22, code)
    assert problem.last_action == 1
    assert not any(psutil.pid_exists(pid) for pid in workers)
    with pytest.raises(ClosedEnvironmentError, match="died"):
        envs.step(ONES)
    envs.close()


class Segfaults(CounterEnv):
    def step(self, action):
        import ctypes

        ctypes.string_at(0)


def test_segmentation_fault_comes_with_the_python_traceback():
    envs = AsyncVectorEnv([Segfaults])
    envs.reset(seed=0)
    with pytest.raises(WorkerCrashed, match="SIGSEGV") as caught:
        envs.step(np.ones(1, int))
    assert "test_process_faults.py" in str(caught.value)


class SysExits(CounterEnv):
    def step(self, action):
        sys.exit("enough")


def test_sys_exit_comes_with_its_traceback():
    envs = AsyncVectorEnv([SysExits])
    envs.reset(seed=0)
    with pytest.raises(WorkerCrashed, match="SystemExit: enough"):
        envs.step(np.ones(1, int))


def test_death_during_construction():
    class Dies(CounterEnv):
        def __init__(self):
            os._exit(9)

    with pytest.raises(WorkerCrashed, match="exit code 9"):
        AsyncVectorEnv([CounterEnv, Dies], num_workers=2)
    assert not multiprocessing.active_children()


def test_raise_during_construction():
    class Refuses(CounterEnv):
        def __init__(self):
            raise KeyError("no such map")

    with pytest.raises(KeyError, match="no such map"):
        AsyncVectorEnv([CounterEnv, Refuses], num_workers=2)
    assert not multiprocessing.active_children()


def test_hang_times_out_and_close_kills():
    envs = build("hang")
    workers = [process.pid for process in envs.processes]
    envs.reset(seed=20)
    envs.step(ONES)
    envs.step_async(ONES)
    with pytest.raises(multiprocessing.TimeoutError, match=r"environment 2 \(seed 22"):
        envs.step_wait(timeout=0.3)
    envs.close(terminate=True)
    assert not any(psutil.pid_exists(pid) for pid in workers)


@pytest.mark.parametrize("fault", ["exit", "kill", "hang"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_restart_turns_a_crash_into_a_truncation(fault, mode):
    limit = 0.5 if fault == "hang" else None
    with build(fault, on_crash="restart", autoreset_mode=mode, step_timeout=limit) as envs:
        envs.reset(seed=20)
        before = envs.step(ONES)[0]
        observations, rewards, terminated, truncated, infos = envs.step(ONES)
        assert truncated.tolist() == [False, False, True, True]
        assert not terminated.any()
        assert rewards.tolist() == [1.0, 1.0, 0.0, 0.0]
        crashed = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
        assert crashed["_crashed"].tolist() == [False, False, True, True]
        assert "environment 2" in crashed["crashed"][2]
        if mode is AutoresetMode.SAME_STEP:
            assert [infos["final_obs"][i] for i in (2, 3)] == before[2:].tolist()
        else:
            np.testing.assert_array_equal(observations[2:], before[2:])
        if mode is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": truncated})
        after = envs.step(ONES)
        assert not after[3].any()
        assert len(envs.get_attr("count")) == 4


def test_restart_gives_up_on_an_environment_that_always_crashes():
    envs = build("kill", at_step=0, on_crash="restart")
    with pytest.raises(WorkerCrashed):
        envs.reset(seed=1)
    assert not multiprocessing.active_children()


PARENT = """
import functools, numpy as np, sys, time
from ludus.testing.envs import CounterEnv, SlowEnv, FaultyEnv
from ludus.vector import AsyncVectorEnv

if __name__ == "__main__":
    hang = functools.partial(FaultyEnv, "hang", 1)
    envs = AsyncVectorEnv([CounterEnv, hang], num_workers=2, context=sys.argv[1])
    envs.reset(seed=0)
    envs.step_async(np.ones(2, int))
    print(*[process.pid for process in envs.processes], flush=True)
    time.sleep(60)
"""


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_killed_parent_leaves_nothing(tmp_path, context):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, str(script), context], stdout=subprocess.PIPE, text=True
    )
    try:
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(workers) == 2
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()

    def gone(pid):
        # Where nothing reaps orphans, a dead one stays listed as a zombie.
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    # The shared memory has no name: it is gone with the last process that holds it.
    assert wait_until(lambda: all(map(gone, workers)))


LEAKING = """
import gc, numpy as np, psutil
from ludus.testing.envs import CounterEnv
from ludus.vector import AsyncVectorEnv

def cycle():
    with AsyncVectorEnv([CounterEnv] * 2, num_workers=2) as envs:
        envs.reset(seed=0)
        envs.step(np.ones(2, int))

def held():
    gc.collect()
    process = psutil.Process()
    buffers = [m for m in process.memory_maps(grouped=False) if "ludus-vector" in m.path]
    children = process.children(recursive=True)
    return {
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "children": len(children),
        "shared memory": len(buffers),
    }

for _ in range(5):
    cycle()
before = held()
for _ in range(CYCLES):
    cycle()
after = held()
assert all(after[name] <= before[name] for name in before), (before, after)
"""


def test_open_and_close_many_times_leaks_nothing(tmp_path):
    # In a process of its own: forking one that has loaded half of PyPI takes its time.
    script = tmp_path / "cycles.py"
    script.write_text(LEAKING.replace("CYCLES", "200" if ALL else "40"))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr


def test_forgotten_environments_are_ended():
    envs = AsyncVectorEnv([CounterEnv] * 2)
    workers = [process.pid for process in envs.processes]
    known = weakref.ref(envs)
    del envs
    gc.collect()
    assert known() is None, [(type(one), repr(one)[:300]) for one in gc.get_referrers(known())]
    assert wait_until(lambda: not any(psutil.pid_exists(pid) for pid in workers)), [
        psutil.Process(pid).as_dict(["status", "ppid", "create_time"])
        for pid in workers
        if psutil.pid_exists(pid)
    ]


def test_exit_without_close_ends_by_itself(tmp_path):
    script = tmp_path / "forgets.py"
    script.write_text(
        PARENT.replace("time.sleep(60)", "")
        .replace('"hang"', '"raise"')
        .replace("num_workers=2", "num_workers=2, daemon=False")
    )
    done = subprocess.run(
        [sys.executable, str(script), "fork"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    assert not any(psutil.pid_exists(int(pid)) for pid in done.stdout.split())
