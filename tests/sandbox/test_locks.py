"""Locks of files work in a sandbox, and are bounded."""

from __future__ import annotations

import threading

import pytest

from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.linux import uncharged_memory
from tests.sandbox.support import why_not

BACKENDS = ("bubblewrap", "podman")

WRITERS = """
import os, sqlite3, sys
base = sqlite3.connect("numbers.db", timeout=30, isolation_level=None)
base.execute("create table numbers (n)")
base.execute("insert into numbers values (0)")
base.close()
for _ in range(4):
    if os.fork() == 0:
        base = sqlite3.connect("numbers.db", timeout=30, isolation_level=None)
        for _ in range(25):
            base.execute("begin immediate")
            (n,) = base.execute("select n from numbers").fetchone()
            base.execute("update numbers set n = ?", (n + 1,))
            base.execute("commit")
        os._exit(0)
failed = [status for _ in range(4) if (status := os.wait()[1])]
print(failed, sqlite3.connect("numbers.db").execute("select n from numbers").fetchone()[0])
"""

MANY = """
import fcntl, os, time
file = os.open("locked", os.O_RDWR | os.O_CREAT)
for place in range({count}):
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * place)
time.sleep(0.5)
print("alive")
"""


@pytest.fixture(params=BACKENDS)
def box(request):
    if reason := why_not(request.param):
        pytest.skip(reason)
    with open_sandbox(Policy(memory="128M", pids=32), backend=request.param) as opened:
        yield opened


def test_processes_that_share_a_database_exclude_each_other(box):
    done = box.run(["/usr/bin/python3", "-c", WRITERS], timeout=60)
    assert done.text == "[] 100\n", done.error_text


def test_a_sandbox_may_have_thousands_of_locks(box):
    done = box.run(["/usr/bin/python3", "-c", MANY.format(count=4000)], timeout=60)
    assert (done.text, done.oom_killed) == ("alive\n", False)


def test_too_many_locks_are_told_as_a_lack_of_memory(box):
    done = box.run(["/usr/bin/python3", "-c", MANY.format(count=20_000)], timeout=60)
    assert (done.returncode, done.oom_killed, done.text) == (137, True, "")
    assert box.run(["echo", "alive"], timeout=10).text == "alive\n"


def test_the_locks_of_one_sandbox_are_not_held_against_another():
    if reason := why_not("bubblewrap"):
        pytest.skip(reason)
    policy = Policy(memory="128M", pids=32)
    with (
        open_sandbox(policy, backend="bubblewrap") as one,
        open_sandbox(policy, backend="bubblewrap") as other,
    ):
        job = one.spawn(["/usr/bin/python3", "-c", MANY.format(count=6000) + "time.sleep(30)"])
        done = other.run(["/usr/bin/python3", "-c", MANY.format(count=6000)], timeout=60)
        assert done.text == "alive\n"
        assert job.poll() is None
        job.close()
    assert one._oom_kills() == other._oom_kills() == 0


def test_the_thread_that_counts_ends_with_the_last_sandbox(monkeypatch):
    if reason := why_not("bubblewrap"):
        pytest.skip(reason)
    watch = uncharged_memory._Watch(uncharged_memory.LockLimit)
    monkeypatch.setattr(uncharged_memory, "_watch_of", lambda kind, owner: watch)
    before = set(threading.enumerate())
    with open_sandbox(Policy(memory="64M"), backend="bubblewrap"):
        made = [t for t in threading.enumerate() if t.name == "ludus-sandbox-locks"]
        made = [thread for thread in made if thread not in before]
        assert len(made) == 1
    made[0].join(5.0)
    assert not made[0].is_alive()
