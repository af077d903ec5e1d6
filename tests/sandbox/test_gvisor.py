"""What is special to boxes on gVisor's kernel."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ludus.errors import SandboxError, SandboxUnavailable
from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.backend import gvisor
from tests.sandbox.attacks.host import members
from tests.sandbox.support import needs

NOBODY = 65534


@pytest.fixture
def fresh_trial():
    for kept in (gvisor._trial, gvisor._runsc):
        kept.cache_clear()
    yield
    for kept in (gvisor._trial, gvisor._runsc):
        kept.cache_clear()


@pytest.mark.usefixtures("fresh_trial")
class TestRefusal:
    @pytest.fixture(autouse=True)
    def as_root(self, monkeypatch):
        monkeypatch.setattr(gvisor, "why_not_here", lambda: None)

    def test_no_runtime(self, monkeypatch):
        monkeypatch.setattr(gvisor.shutil, "which", lambda name, path=None: None)
        with pytest.raises(SandboxUnavailable, match=r"Found no runsc.*Required.*Install"):
            open_sandbox(backend="gvisor")

    @pytest.mark.skipif(os.geteuid() != 0, reason="a first box needs root")
    @pytest.mark.parametrize("says", ["exit 1", "echo 'ls: Invalid argument' >&2; exit 2"])
    def test_a_runtime_that_does_not_do(self, monkeypatch, tmp_path, says):
        fake = tmp_path / "runsc"
        fake.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo runsc version old && exit\n{says}\n'
        )
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        reason = gvisor.Gvisor.unavailable()
        assert reason
        assert "runsc version old" in reason
        assert "required" in reason
        assert ("Invalid argument" in reason) == ("Invalid" in says)


@needs("gvisor")
class TestGvisor:
    def make(self, **policy):
        return open_sandbox(Policy(**policy), backend="gvisor")

    def test_its_kernels_have_no_rights(self):
        """What runs a box's code on the host is nobody, has no capability, and is filtered."""
        with self.make() as box, box.shell() as shell:
            assert shell.run("uname -r").text.strip() != os.uname().release
            tables = [Path(f"/proc/{pid}/status").read_text() for pid in members(box.name)]
            rows = [dict(line.split(":\t", 1) for line in table.splitlines()) for table in tables]
            kernels = [row for row in rows if row["Uid"].split()[0] == str(NOBODY)]
            # The others are the runtime, which waits, and gVisor's file server.
            assert len(kernels) >= 2
            assert len(rows) - len(kernels) == 2
            assert all(int(row["CapEff"], 16) == 0 for row in kernels)
            assert all(row["Seccomp"] == "2" for row in kernels)
        assert not members(box.name)

    def test_shares_of_processes(self):
        """What all commands may have together is never more than the box may have."""
        with self.make(pids=16) as box:
            jobs = [box.spawn(["sleep", "60"]) for _ in range(2)]
            with pytest.raises(SandboxError, match=r"pids is 16, and 2 commands run"):
                box.spawn(["true"])
            jobs[0].close()
            assert box.run(["sh", "-c", "ulimit -p"]).text == "6\n"

    def test_every_byte_of_a_command(self):
        word = os.fsdecode(bytes(range(1, 256)))
        with self.make() as box:
            done = box.run(["sh", "-c", 'printf %s "$1$X"', "sh", word], env={"X": "ü"})
            assert done.stdout == os.fsencode(word) + "ü".encode()

    def test_variables_are_for_the_command_only(self):
        """The filter is loaded before any of the caller's variables matters."""
        with self.make() as box:
            done = box.run(["true"], env={"LD_PRELOAD": "/none.so", "PYTHONHOME": "/none"})
            assert done.stderr.count(b"/none.so") == 1
            assert done.returncode == 0

    @pytest.mark.parametrize(
        ("argv", "cwd", "status", "words"),
        [
            (["none-such"], None, 127, b"none-such: No such file"),
            (["/etc/passwd"], None, 126, b"Permission denied"),
            (["true"], "/none-such", 125, b"cannot start"),
        ],
    )
    def test_what_cannot_start(self, argv, cwd, status, words):
        with self.make() as box:
            done = box.run(argv, cwd=cwd)
            assert (done.returncode, words in done.stderr) == (status, True)

    def test_a_folder_of_the_host(self, tmp_path):
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        (tmp_path / "given").write_text("1")
        os.chown(tmp_path, 12345, 12345)
        box = open_sandbox(Policy(disk=None), backend="gvisor", workspace=tmp_path)
        with box:
            box.run(["sh", "-c", "id -u > made; cat given >> made"]).check()
        assert (tmp_path / "made").read_text() == "12345\n1"
        assert (tmp_path / "made").stat().st_uid == 12345

    @pytest.mark.parametrize("which", [0, -1])
    def test_a_kernel_that_is_ended_from_outside(self, which):
        """Killed itself or at one of the processes that it runs programs in, it ends its command.

        The host does so when memory runs out.
        """
        with self.make() as box:
            box.run(["true"]).check()
            with box.shell() as shell:
                found = sorted(pid for pid in members(box.name) if owner(pid) == NOBODY)
                os.kill(found[which], signal.SIGKILL)
                done = shell.run("sleep 60", timeout=20)
                assert done.returncode != 0
                assert not done.timed_out
                assert shell.run("echo fine").stdout == b"fine\n"


def owner(pid):
    return Path(f"/proc/{pid}").stat().st_uid
