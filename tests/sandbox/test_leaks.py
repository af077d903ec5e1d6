"""Whatever happens to a box or its owner, nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import open_sandbox, sweep
from tests.sandbox import leaks
from tests.sandbox.leaks import box_processes, check_killed_owners, check_many_boxes, vanish
from tests.sandbox.support import needs

LABEL = f"leak-test-{os.getpid()}"

pytestmark = needs("bubblewrap", root=True)


@pytest.fixture(autouse=True)
def state(tmp_path_factory, monkeypatch):
    # Not below pytest's own folder, which a box's user cannot reach.
    folder = Path(f"/tmp/ludus-test-{os.getpid()}-{time.monotonic_ns()}")
    monkeypatch.setenv("LUDUS_STATE", str(folder))
    yield folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def leftovers() -> dict[str, object]:
    return leaks.leftovers(LABEL)


def test_many_boxes_at_once():
    check_many_boxes(30, LABEL)


def test_owners_killed_at_any_moment():
    check_killed_owners(5, LABEL, seed=os.getpid())


def test_a_box_that_cannot_be_opened(monkeypatch):
    open_sandbox(label=LABEL).close()
    before = leftovers()
    monkeypatch.setattr("ludus.sandbox.linux.syscalls.become", _refuse)
    with pytest.raises(SandboxError, match="set up"):
        open_sandbox(label=LABEL)
    assert leftovers() == before


def _refuse(uid, gid):
    raise OSError(1, "refused", "setresuid")


OWNER = """
import os, sys, time
from ludus.sandbox import Policy, open_sandbox
box = open_sandbox(Policy(memory="64M"), label=sys.argv[1])
shell = box.shell()
job = box.spawn(["sh", "-c", "(setsid sleep 300 &); sleep 300"])
shell.run("sleep 300 & setsid sleep 300 & echo", keep_background=True)
exec_ = box.shell()
print(box._leased, flush=True)
exec_.run("exec python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(1, 0); time.sleep(300)'")
"""


def test_the_owner_is_killed():
    """The box's processes die by themselves, and a sweep gives the rest back."""
    before = leftovers()
    owner = subprocess.Popen([sys.executable, "-c", OWNER, LABEL], stdout=subprocess.PIPE)
    assert owner.stdout
    uid = int(owner.stdout.readline())
    time.sleep(0.5)
    started = {pid for pid, user in box_processes().items() if user == uid}
    assert len(started) >= 8
    assert sweep() == []
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert not vanish(started)
    assert leftovers()["boxes"] != before["boxes"]
    assert len(sweep()) == 1
    assert leftovers() == before


def test_an_owner_that_forgets():
    """A box that nobody closed is closed when the interpreter ends."""
    before = leftovers()
    code = OWNER.split("print")[0] + "print(box._leased)"
    subprocess.run([sys.executable, "-c", code, LABEL], check=True, capture_output=True, timeout=60)
    assert sweep() == []
    assert leftovers() == before


def test_a_fork_of_the_owner_does_not_close_the_box():
    with open_sandbox(label=LABEL) as box:
        child = os.fork()
        if child == 0:
            box.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert box.run(["echo", "here"]).stdout == b"here\n"


def test_closing_while_commands_run():
    before = leftovers()
    box = open_sandbox(label=LABEL)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(box.run(["sleep", "50"]).returncode))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    box.close()
    for thread in threads:
        thread.join(10)
    assert results == [137, 137, 137]
    assert leftovers() == before


AS_INIT = """
import pathlib
from ludus.sandbox import open_sandbox
with open_sandbox() as box:
    box.run(["true"])
    box.run(["sleep", "9"], timeout=0.1)
    box.shell().run("sleep 9 & echo")
stats = [file.read_text() for file in pathlib.Path("/proc").glob("[0-9]*/stat")]
print([stat.rpartition(")")[2].split()[0] for stat in stats].count("Z"))
"""


def test_an_owner_that_is_init():
    """In a container the owner may be process 1, to which orphans fall: none is left unreaped."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run(
        [*command, sys.executable, "-c", AS_INIT], check=True, capture_output=True, timeout=60
    )
    assert done.stdout == b"0\n"
