"""What is special to boxes of podman."""

from __future__ import annotations

import json

import pytest

from ludus.errors import SandboxError, SandboxUnavailable
from ludus.sandbox import Mount, Policy, open_sandbox
from ludus.sandbox.backend import podman
from tests.sandbox.containers_suite import ContainerTests
from tests.sandbox.engines import run
from tests.sandbox.support import needs


@needs("podman")
class TestPodman(ContainerTests):
    backend = "podman"

    def start_foreign(self, name, image):
        run("run", "-d", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024",
            "--network=none", f"--name={name}", image, "sleep", "60")  # fmt: skip

    def containers(self):
        listed = json.loads(run("ps", "--all", "--format=json"))
        return {row["Names"][0]: row["State"] == "running" for row in listed}

    def remove(self, name):
        run("rm", "--force", "--time=0", name)

    def inspected(self, box):
        return json.loads(run("container", "inspect", f"ludus-{box.name}"))[0]

    def first_process(self, box):
        return self.inspected(box)["State"]["Pid"]

    def health_checks(self, box):
        return self.inspected(box)["Config"].get("Healthcheck", {}).get("Test", ["NONE"]) != [
            "NONE"
        ]

    def volumes(self):
        return run("volume", "ls", "--quiet").decode().split()

    def test_no_engine(self, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        podman._trial.cache_clear()
        try:
            with pytest.raises(SandboxUnavailable, match=r"no podman on PATH.*apt-get install"):
                open_sandbox(backend="podman")
        finally:
            podman._trial.cache_clear()

    def test_a_path_that_podman_cannot_take(self, tmp_path):
        (tmp_path / "a:b").mkdir()
        mount = Mount(str(tmp_path / "a:b"), "/data")
        with pytest.raises(SandboxError, match="a:b"):
            open_sandbox(Policy(mounts=(mount,)), backend="podman")


def test_without_images():
    with pytest.raises(ValueError, match="no images"):
        open_sandbox(backend="process", image="debian")
