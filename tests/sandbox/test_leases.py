from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from ludus.errors import SandboxError, SandboxUnavailable
from ludus.sandbox import leases, opening, sweep
from ludus.sandbox.linux import uids


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_lease_lives_as_long_as_its_owner(state):
    lease = leases.Lease.take("process", label="My box / 1", deadline=None)
    assert lease.name.startswith("my-box-1-")
    assert sweep() == []
    assert lease.folder.is_dir()
    lease.release()
    assert list((state / "boxes").iterdir()) == []


def test_a_dead_owners_lease_is_swept(state):
    code = """
import os
from ludus.sandbox.leases import Lease
Lease.take("process", label=None, deadline=None)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    (left,) = (state / "boxes").iterdir()
    assert sweep() == [left.name]
    assert sweep() == []


def test_a_pid_that_was_given_to_another_is_dead(state):
    lease = leases.Lease.take("process", label=None, deadline=None)
    lease.note(start="1")
    assert sweep() == [lease.name]
    lease.release()


def test_the_state_folder_must_be_the_callers_own(state):
    state.mkdir(mode=0o777)
    state.chmod(0o777)
    with pytest.raises(SandboxError, match="only user"):
        leases.state_folder()
    state.rmdir()
    state.symlink_to("/")
    with pytest.raises(SandboxError, match="LUDUS_STATE"):
        leases.state_folder()


def test_users_are_leased_once():
    taken = {uids.lease_uid("box") for _ in range(20)}
    assert len(taken) == 20
    assert taken <= set(uids.pool())
    for uid in taken:
        uids.release_uid(uid)


def test_the_pool_fits_the_user_namespace():
    assert uids.pool("0 0 4294967295\n") == range(1_900_000_000, 1_900_065_536)
    assert uids.pool("0 1000 1\n1 100000 65536\n") == range(32769, 65537)
    with pytest.raises(SandboxUnavailable, match="mapped users"):
        uids.pool("0 1000 1\n")


@pytest.mark.parametrize("uid", [0, 1000, os.getuid()])
def test_only_users_of_boxes_are_killed(uid):
    with pytest.raises(ValueError, match="not ours to kill"):
        uids.kill_user(uid)


def test_a_first_box_is_preceded_by_a_sweep(state):
    code = """
import os
from ludus.sandbox.leases import Lease
Lease.take("process", label="left", deadline=None)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    (left,) = (state / "boxes").iterdir()
    code = """
import os, warnings
warnings.simplefilter("ignore")
from ludus.sandbox import open_sandbox
with open_sandbox(backend="process") as box:
    print(sorted(os.listdir(os.environ["LUDUS_STATE"] + "/boxes")) == [box.name])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert done.stdout == b"True\n"
    assert not left.exists()


def test_what_was_taken_half_is_swept(state):
    """Their makers were killed: a folder without a record, users whose boxes never came to be."""
    lease = leases.Lease.take("process", label="whole", deadline=None)
    kept = uids.lease_uid(lease.name)
    (state / "boxes" / "half").mkdir()
    uids.lease_uid("never-was")
    uids.lease_uid("")
    assert sweep() == ["half"]
    assert sorted(path.name for path in (state / "boxes").iterdir()) == [lease.name]
    left = {int(path.name) for path in (state / "uids").iterdir()}
    assert left == {kept} or os.geteuid() != 0
    uids.release_uid(kept)
    lease.release()


STOPPED = """
import fcntl, os, signal
from ludus.sandbox import leases
held = []
for name in ("take.lock", "sweep.lock"):
    held.append(open(leases.state_folder() / name, "w"))
    fcntl.flock(held[-1], fcntl.LOCK_EX)
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""
OPENS = """
import warnings
warnings.simplefilter("ignore")
from ludus.sandbox import leases, open_sandbox
with open_sandbox(backend="process") as box:
    print(box.run(["echo", "opened"]).text, end="")
"""


def test_a_stopped_process_keeps_nobody_from_opening(state):
    """It holds every lock that this or an earlier version of Ludus takes in the state folder."""
    stopped = subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE)
    try:
        assert stopped.stdout.read(5) == b"held\n"
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        done = subprocess.run(
            [sys.executable, "-c", OPENS], capture_output=True, timeout=60, check=True
        )
        assert done.stdout == b"opened\n"
    finally:
        stopped.send_signal(signal.SIGKILL)
        stopped.wait()
        stopped.stdout.close()


def test_a_sweep_that_is_kept_waiting_says_by_whom(state, monkeypatch):
    monkeypatch.setattr(leases, "_PATIENCE", 0.05)
    with open(leases.state_folder() / "sweep.lock", "w") as held:  # noqa: PTH123
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SandboxError, match="another process sweeps"):
            sweep()


def test_what_a_killed_maker_left_half_made_is_swept(state):
    old, fresh = state / "making" / "old", state / "making" / "fresh"
    for folder in (old, fresh):
        leases.state_folder()
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    sweep()
    assert [path.name for path in (state / "making").iterdir()] == ["fresh"]


def test_a_user_that_changed_hands_is_not_killed(state, monkeypatch):
    """Between reading a lease and acting on it, its owner gives it back and another takes it."""
    if os.geteuid() != 0:
        pytest.skip("only root's boxes have users of their own")
    uid, killed = uids.lease_uid("gone"), []
    monkeypatch.setattr(uids, "kill_user", killed.append)
    owner = leases.Lease.take("process", label="next", deadline=None)
    real = uids._is_forgotten

    def change_hands(name):
        forgotten = real(name)
        if name == "gone":
            uids.release_uid(uid)
            (state / "uids" / str(uid)).write_text(owner.name)
        return forgotten

    monkeypatch.setattr(uids, "_is_forgotten", change_hands)
    uids.release_forgotten()
    assert killed == []
    assert (state / "uids" / str(uid)).read_text() == owner.name
    owner.release()


@pytest.mark.filterwarnings("error")
def test_a_sweep_of_another_process_is_no_news():
    """Many processes open their first sandbox at once, and one of them sweeps."""
    with leases.sweep_lock(1.0):
        assert opening._sweep_once.__wrapped__(0) is None
