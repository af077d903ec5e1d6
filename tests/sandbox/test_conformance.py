"""Every backend that runs here does what the contract says."""

from __future__ import annotations

import os

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, backends, open_sandbox
from ludus.sandbox.opening import backend_class
from ludus.testing.sandbox_suite import IsolationConformance, SandboxConformance
from tests.sandbox.support import needs


@pytest.mark.filterwarnings("ignore:The 'process' backend:RuntimeWarning")
class TestProcess(SandboxConformance):
    def make(self, **policy):
        unlimited = {
            "memory": None, "cpus": None, "pids": None, "disk": None, "tmp": None, "files": None,
            "network": "host",
        }  # fmt: skip
        return open_sandbox(Policy(**unlimited | policy), backend="process")


@needs("bubblewrap", root=True)
class TestBubblewrap(IsolationConformance):
    def make(self, **policy):
        return open_sandbox(Policy(**policy), backend="bubblewrap")


@needs("podman", root=True)
class TestPodman(IsolationConformance):
    def make(self, **policy):
        return open_sandbox(Policy(**policy), backend="podman")


@needs("docker", root=True)
class TestDocker(IsolationConformance):
    def make(self, **policy):
        return open_sandbox(Policy(**policy), backend="docker")


@needs("gvisor", root=True)
class TestGvisor(IsolationConformance):
    def make(self, **policy):
        return open_sandbox(Policy(**policy), backend="gvisor")

    def traps(self):
        # A fifo is the own of the kernel that made it: the host never sees one.
        return {name: trap for name, trap in super().traps().items() if name != "fifo"}

    def test_fifos_stay_inside(self, tmp_path):
        with self.make() as box:
            box.run(["sh", "-c", "mkdir d; mkfifo d/it; test -p d/it; touch d/file"]).check()
            box.get("d", tmp_path / "out")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]

    def test_spawn(self):
        """Programs run beside the caller; descriptors of the caller's are refused with words."""
        with self.make() as box:
            reader, writer = os.pipe()
            with pytest.raises(SandboxError, match="descriptors"):
                box.spawn(["true"], pass_fds=[writer])
            os.close(reader)
            os.close(writer)
            job = box.spawn(["cat"])
            os.write(job.pipes.stdin, b"word")
            os.set_blocking(job.pipes.stdout, True)
            assert os.read(job.pipes.stdout, 100) == b"word"
            assert job.poll() is None
            job.close()
            assert job.poll() is not None


def test_every_backend_is_covered():
    assert set(backends()) == {"bubblewrap", "podman", "docker", "gvisor", "process"}
    assert backend_class("process").backend == "process"
