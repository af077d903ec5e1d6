"""What is special to boxes of Docker."""

from __future__ import annotations

import pytest

from ludus.errors import SandboxUnavailable
from ludus.sandbox import open_sandbox
from ludus.sandbox.backend.docker import socket_path
from tests.sandbox.containers_suite import ContainerTests
from tests.sandbox.engines import ask
from tests.sandbox.support import needs


@needs("docker")
class TestDocker(ContainerTests):
    backend = "docker"
    has_volumes = True

    def start_foreign(self, name, image):
        config = {"Image": image, "Cmd": ["sleep", "60"], "HostConfig": {"NetworkMode": "none"}}
        ask("POST", f"/containers/create?name={name}", config)
        ask("POST", f"/containers/{name}/start")

    def containers(self):
        rows = ask("GET", "/containers/json?all=1")
        return {row["Names"][0].lstrip("/"): row["State"] == "running" for row in rows}

    def remove(self, name):
        ask("DELETE", f"/containers/{name}?force=1")

    def address(self):
        return {"socket": socket_path()}

    def inspected(self, box):
        return ask("GET", f"/containers/ludus-{box.name}/json")

    def first_process(self, box):
        return self.inspected(box)["State"]["Pid"]

    def health_checks(self, box):
        return "Health" in self.inspected(box)["State"]

    def volumes(self):
        return ask("GET", "/volumes")["Volumes"] or []

    def test_no_engine(self, monkeypatch, tmp_path):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
        with pytest.raises(SandboxUnavailable, match=r"does not answer.*DOCKER_HOST"):
            open_sandbox(backend="docker")

    def test_a_daemon_elsewhere(self, monkeypatch):
        monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
        with pytest.raises(SandboxUnavailable, match="on this machine"):
            open_sandbox(backend="docker")
