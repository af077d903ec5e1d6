"""Processes that take the kernel long to end: the box is closed all the same."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, cgroup, contract, leases, open_sandbox, opening, sweep
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap", root=True)

LINGER = """
import fcntl, os, struct, sys, time
COUNT = 150_000
files = [fcntl.fcntl(os.memfd_create("x"), fcntl.F_DUPFD, 1015) for _ in range(2)]
for own, other in (files, files[::-1]):
    done, said = os.pipe()
    if os.fork() == 0:
        def lock(kind, at, size):
            fcntl.fcntl(own, fcntl.F_SETLK, struct.pack("hhqqi", kind, 0, at, size, 0))
        lock(fcntl.F_WRLCK, 0, 2 * COUNT)
        for at in range(2 * COUNT - 2, 0, -2):
            lock(fcntl.F_UNLCK, at, 1)
        # Each of these has to be looked for among the locks of the other process.
        for _ in range(900):
            os.dup(other)
        os.write(said, b"x")
        time.sleep(1000)
    os.read(done, 1)
open("/workspace/ready", "w").close()
time.sleep(1000)
"""


@pytest.fixture
def own_state(monkeypatch):
    """Boxes of this test alone; another test's sweep must not see to them."""
    folder = Path(tempfile.mkdtemp(prefix="ludus-"))
    folder.chmod(0o711)
    monkeypatch.setenv("LUDUS_STATE", str(folder))
    monkeypatch.setattr(leases, "left", [])
    yield
    opening._sweep_once.cache_clear()
    shutil.rmtree(folder)


def is_ready(box):
    try:
        return box.read_bytes("/workspace/ready") == b""
    except SandboxError:
        return False


@pytest.mark.usefixtures("own_state")
def test_a_box_that_does_not_end_in_time_is_left_to_the_next_sweep(monkeypatch):
    monkeypatch.setattr(cgroup, "_PATIENCE", 0.05)
    monkeypatch.setattr(contract, "_ENDING", 0.05)
    box = open_sandbox(Policy(memory="256M", pids=16), backend="bubblewrap")
    box.spawn(["python3", "-c", LINGER])
    end = time.monotonic() + 60
    while not is_ready(box) and time.monotonic() < end:
        time.sleep(0.05)
    with pytest.warns(UserWarning, match="cannot be given back yet"):
        box.close()
    assert leases.left == [box.name]
    (folder,) = (leases.state_folder() / "boxes").iterdir()
    assert folder.name == box.name
    monkeypatch.setattr(cgroup, "_PATIENCE", 5.0)
    end = time.monotonic() + 60
    swept = sweep()
    while not swept and time.monotonic() < end:
        swept = sweep()
    assert swept == [box.name]
    assert not list((leases.state_folder() / "boxes").iterdir())
    with open_sandbox(Policy(), backend="bubblewrap") as other:
        assert other.run(["true"]).returncode == 0
