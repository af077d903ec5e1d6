"""Processes that take the kernel long to end: the box is closed all the same."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from ludus.sandbox import Policy, leases, open_sandbox, opening, sweep
from ludus.sandbox.linux import cgroup
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap", root=True)


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


@pytest.mark.usefixtures("own_state")
def test_a_box_that_does_not_end_in_time_is_left_to_the_next_sweep(monkeypatch):
    """How long the kernel takes to end a process depends on what the process has made it keep."""
    real = cgroup.kill_group

    def busy(folder, **_):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))

    box = open_sandbox(Policy(memory="256M", pids=16), backend="bubblewrap")
    box.spawn(["sleep", "1000"])
    monkeypatch.setattr(cgroup, "kill_group", busy)
    with pytest.warns(UserWarning, match="cannot be released yet"):
        box.close()
    assert leases.left == [box.name]
    (folder,) = (leases.state_folder() / "boxes").iterdir()
    assert folder.name == box.name
    assert sweep() == []  # still busy
    monkeypatch.setattr(cgroup, "kill_group", real)
    with open_sandbox(Policy(), backend="bubblewrap") as other:
        assert [path.name for path in folder.parent.iterdir()] == [other.name]
        assert other.run(["true"]).returncode == 0
    assert not list(folder.parent.iterdir())
