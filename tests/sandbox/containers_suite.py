"""What boxes of every container engine have beyond the contract; each engine's tests derive it."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, open_sandbox, sweep
from ludus.sandbox.leases import state_folder
from ludus.sandbox.opening import backend_class

OWNER = """
import sys, time
from ludus.sandbox import Policy, open_sandbox
box = open_sandbox(Policy(), backend=sys.argv[1], label="owner")
job = box.spawn(["sh", "-c", "(setsid sleep 300 &); sleep 300"])
print(box.name, flush=True)
time.sleep(60)
"""


def image_tar() -> bytes:
    """A root file system that has bash, and a file by which it is recognised."""
    programs = {f"bin/{name}": shutil.which(name) for name in ("bash", "sleep", "cat")}
    needed = {
        library.lstrip("/"): library for path in programs.values() for library in libraries(path)
    }
    texts = {name: Path(path).read_bytes() for name, path in {**programs, **needed}.items()}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, text in {**texts, "etc/whose": b"image\n"}.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text))
    return made.getvalue()


def libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, check=True, text=True).stdout
    return [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]


class ContainerTests:
    """Derive, name the backend, and say how the engine is asked."""

    backend: str

    def load(self, data: bytes, image: str) -> None:
        raise NotImplementedError

    def unload(self, image: str) -> None:
        raise NotImplementedError

    def start_foreign(self, name: str, image: str) -> None:
        """Start a container that no box has made."""
        raise NotImplementedError

    def containers(self) -> dict[str, bool]:
        """Return all containers of the engine by name, and whether each runs."""
        raise NotImplementedError

    def remove(self, name: str) -> None:
        raise NotImplementedError

    @pytest.fixture
    def image(self):
        name = "localhost/ludus-test-image:1"
        self.load(image_tar(), name)
        yield name
        self.unload(name)

    def test_a_box_of_an_image(self, image):
        with open_sandbox(Policy(), backend=self.backend, image=image) as box:
            assert box.run(["cat", "/etc/whose"]).check().stdout == b"image\n"
            assert box.run(["ls", "/usr"]).returncode == 127
            assert box.run(["bash", "-c", "echo 1 > f; cat f"]).stdout == b"1\n"
            assert box.run(["bash", "-c", "echo 1 > /etc/f"]).returncode != 0
            with box.shell() as shell:
                shell.run("x=kept")
                assert shell.run("echo $x").stdout == b"kept\n"

    def test_an_image_that_is_not_there(self):
        with pytest.raises(SandboxError, match="none-such"):
            open_sandbox(
                Policy(), backend=self.backend, image="localhost/none-such:1", label="imageless"
            )
        assert not [name for name in self.containers() if "imageless" in name]

    def test_the_owner_is_killed(self):
        argv = [sys.executable, "-c", OWNER, self.backend]
        owner = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert owner.stdout
        name = owner.stdout.readline().strip()
        assert self.containers()[f"ludus-{name}"]
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdout.close()
        sweep()
        assert f"ludus-{name}" not in self.containers()
        assert not (state_folder() / "boxes" / name).exists()

    def test_containers_of_others_are_left_alone(self, image):
        """Neither a sweep nor a box touches one, even one with a name that a box could have."""
        name = "ludus-box-0123456789"
        self.start_foreign(name, image)
        try:
            record = {"name": "box-0123456789", "container": name, **self.address()}
            module = sys.modules[backend_class(self.backend).__module__]
            module.reclaim(record)
            open_sandbox(Policy(), backend=self.backend).close()
            assert self.containers()[name]
        finally:
            self.remove(name)

    def address(self) -> dict[str, str]:
        return {}

    def test_a_container_that_is_ended_from_outside(self):
        with open_sandbox(Policy(), backend=self.backend) as box:
            job = box.spawn(["sleep", "60"])
            self.remove(f"ludus-{box.name}")
            assert job.wait(10.0) == 137
            began = time.monotonic()
            with pytest.raises(SandboxError):
                box.run(["true"], timeout=5)
            assert time.monotonic() - began < 5

    def test_no_engine(self, monkeypatch):
        raise NotImplementedError
