"""Every backend that runs here does what the contract says."""

from __future__ import annotations

import pytest

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


def test_every_backend_is_covered():
    assert set(backends()) == {"bubblewrap", "podman", "docker", "gvisor", "process"}
    assert backend_class("process").backend == "process"
