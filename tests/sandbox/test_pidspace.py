"""A namespace is killed, and nothing else ever is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ludus.sandbox.linux.pidspace import PidSpace
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap")


def test_our_own_namespace_is_refused():
    with subprocess.Popen(["sleep", "30"]) as child:
        try:
            with pytest.raises(ProcessLookupError, match="of its own"):
                PidSpace(child.pid)
            assert child.poll() is None
        finally:
            child.kill()


def test_a_process_that_is_gone_is_refused():
    child = subprocess.Popen(["true"])
    child.wait()
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(ProcessLookupError):
        PidSpace(child.pid)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="root makes the namespace")
@pytest.mark.parametrize("uid", [0, None])
def test_never_as_root(uid):
    command = ["unshare", "--pid", "--fork", "--kill-child", "sleep", "30"]
    with subprocess.Popen(command) as child:
        try:
            space = PidSpace(_child_of(child.pid))
            with pytest.raises(ValueError, match="as root"):
                space.kill_others(uid)
            space.close()
        finally:
            child.kill()


def _child_of(pid: int) -> int:
    while True:
        if words := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return int(words[0])
