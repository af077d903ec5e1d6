"""What boxes of every container engine have beyond the contract; each engine's tests derive it."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ludus.errors import ImageMissing, PolicyNotEnforceable, SandboxError
from ludus.sandbox import Mount, Policy, open_sandbox, sweep
from ludus.sandbox.backend.gpus import cdi_gpus, device_nodes
from ludus.sandbox.leases import state_folder
from ludus.sandbox.opening import backend_class
from tests.sandbox.engines import load_image, unload_image

OWNER = """
import sys, time
from ludus.sandbox import Policy, open_sandbox
box = open_sandbox(Policy(), backend=sys.argv[1], label="owner")
job = box.spawn(["sh", "-c", "(setsid sleep 300 &); sleep 300"])
print(box.name, flush=True)
time.sleep(60)
"""


HOSTILE = {
    "etc/passwd": b"root:x:0:0::/:/bin/bash\n"
    + b"".join(
        b"u%d:x:%d:0::/:/bin/bash\n" % (uid, uid) for uid in range(1_900_000_000, 1_900_000_100)
    ),
    "etc/group": b"root:x:0:" + b",".join(b"u%d" % (1_900_000_000 + n) for n in range(100)) + b"\n",
    "data/deep/file": b"of the image\n",
}
RESTLESS = b"""#!/bin/bash
while :; do
    for place in /tmp /workspace /dev/shm /etc /usr; do echo x > $place/restless; done
    (exec 3<>/dev/sda) & (while :; do :; done) &
done 2>/dev/null
"""
LINKS = {
    "workspace-at-usr": ("workspace", "usr"),
    "workspace-above": ("workspace", "../../../../../../VICTIM"),
    "passwd-above": ("etc/passwd", "../../../../../../../VICTIM"),
    "passwd-of-others": ("etc/passwd", "/proc/1/environ"),
    "tools-in-workspace": ("ludus", "/workspace"),
    "no-proc": ("proc", "/tmp"),
    "no-dev": ("dev", "/workspace"),
}
CHANGES = (
    'ENTRYPOINT ["/bin/cat", "/etc/shadow"]',
    "USER 0",
    "ENV LD_PRELOAD=/evil.so",
    "ENV EVIL=evil",
    "ENV PATH=/evil:/bin",
    "VOLUME /data/deep",
    "VOLUME /workspace",
    "WORKDIR /data",
)


def image_tar(
    more: dict[str, bytes] | None = None,
    device: str = "",
    rights: tuple[str, int] = ("", 0),
    links: dict[str, str] | None = None,
) -> bytes:
    """A root file system that has bash, and a file by which it is recognised.

    ``more`` are further files, ``device`` is one like /dev/null for everybody, ``rights`` the mode
    of a file, ``links`` lead elsewhere.
    """
    programs = {f"bin/{name}": shutil.which(name) for name in ("bash", "sleep", "cat")}
    needed = {
        library.lstrip("/"): library for path in programs.values() for library in libraries(path)
    }
    texts = {name: Path(path).read_bytes() for name, path in {**programs, **needed}.items()}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, text in {**texts, "etc/whose": b"image\n", **(more or {})}.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), rights[1] if name == rights[0] else 0o755
            archive.addfile(entry, io.BytesIO(text))
        for name in {str(Path(name).parent) for name in more or ()} - {"etc", "."}:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777
            archive.addfile(entry)
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        if device:
            entry = tarfile.TarInfo(device)
            entry.type, entry.mode, entry.devmajor, entry.devminor = tarfile.CHRTYPE, 0o666, 1, 3
            archive.addfile(entry)
    return made.getvalue()


def libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, check=True, text=True).stdout
    return [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]


class ContainerTests:
    """Derive, name the backend, and say how the engine is asked."""

    backend: str
    has_volumes = False
    """Whether the engine makes folders of the host for an image's volumes, whatever it is told."""

    def load(self, data: bytes, image: str, changes: tuple[str, ...] = ()) -> None:
        load_image(self.backend, data, image, changes)

    def unload(self, image: str) -> None:
        unload_image(self.backend, image)

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
        """It is not downloaded; the command that does that is told."""
        for name, how in (
            ("localhost/none-such:1", f"{self.backend} build --tag localhost/none-such:1"),
            ("none-such/there:1", f"{self.backend} pull none-such/there:1"),
            (f"sha256:{'0' * 64}", f"{self.backend} load"),
        ):
            with pytest.raises(ImageMissing, match=how):
                open_sandbox(Policy(), backend=self.backend, image=name, label="imageless")
        assert not [name for name in self.containers() if "imageless" in name]

    @pytest.mark.parametrize(
        "name",
        [
            "--privileged", "-v=/:/host", "a b", "", "a\nb", "a;b", "../etc", "/etc", "oci:/etc",
            "docker-archive:/tmp/x.tar", "sha256:abc", "a@sha256:abc",
            "A", "a:b:c", "a?force=1", "a" * 400,
        ],
    )  # fmt: skip
    def test_a_name_that_is_none_of_an_image(self, name):
        with pytest.raises(ValueError, match="expected the name of an image"):
            open_sandbox(Policy(), backend=self.backend, image=name)

    def test_an_image_is_opened_by_its_id(self, image):
        """Whatever its name means later."""
        cls = backend_class(self.backend)
        found = cls.find_image(image)
        self.load(image_tar({"etc/whose": b"other\n"}), image)
        assert cls.find_image(image).digest != found.digest
        for name, whose in ((found.digest, b"image\n"), (image, b"other\n")):
            with open_sandbox(Policy(), backend=self.backend, image=name) as box:
                assert box.run(["cat", "/etc/whose"]).check().stdout == whose

    def test_nothing_of_an_image_but_its_files_has_an_effect(self):
        """Entry point, user, variables, volumes, health check, rights and devices of it."""
        name = "localhost/ludus-test-hostile:1"
        self.load(image_tar(HOSTILE, device="evil", rights=("bin/cat", 0o4755)), name, CHANGES)
        found = backend_class(self.backend).find_image(name)
        assert {*found.volumes} == {"/data/deep", "/workspace"}
        assert {"LD_PRELOAD", "EVIL", "PATH"} == {*found.variables}
        try:
            # A user that the image puts into the group of root.
            policy = Policy(uid=1_900_000_007)
            with open_sandbox(policy, backend=self.backend, image=name) as box:
                first = Path(f"/proc/{self.first_process(box)}")
                assert b"sleep\0" in (first / "cmdline").read_bytes()
                variables = (first / "environ").read_bytes()
                assert b"evil" not in variables
                assert b"PATH=/usr/local/sbin" in variables
                lines = (first / "status").read_text().splitlines()
                told = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                assert {*told["Uid"].split(), *told["Gid"].split()} == {str(box._uid)}
                assert {*told["Groups"].split()} <= {str(box._uid)}
                assert told["CapEff"] == told["CapPrm"] == "0" * 16

                def run(script):
                    return box.run(["/bin/bash", "-c", script])

                assert run("echo $LD_PRELOAD $EVIL; pwd").stdout == b"\n/workspace\n"
                # Of the variables only PATH counts, and only for what the sandbox itself runs.
                assert run("echo $PATH").stdout == b"/evil:/bin\n"
                user = "while read -r l; do [[ $l == Uid* ]] && echo $l; done </proc/self/status"
                assert run(user).text.split()[1:] == [str(box._uid)] * 4
                for path in ("/data/x", "/data/deep/x", "/etc/x", "/x"):
                    done = run(f"echo x > {path}")
                    assert done.returncode != 0, path
                    assert b"Read-only" in done.stderr, done.stderr
                assert run("echo x > /evil").returncode != 0
                assert run("echo x > /dev/null").returncode == 0
                assert run("echo x > /dev/x").returncode != 0
                assert run("echo $(</evil)").stderr != b""
                assert run("echo kept > /workspace/mine && cat /workspace/mine").stdout == b"kept\n"
                assert run("while read -r l; do echo $l; done < /etc/passwd").text.startswith(
                    "agent:"
                )
                assert not self.health_checks(box)
                assert bool(self.volumes()) == self.has_volumes
        finally:
            self.unload(name)
        assert not self.volumes()

    @pytest.mark.parametrize("case", LINKS)
    def test_links_in_an_image_lead_nowhere(self, case, tmp_path):
        """What is mounted at such a place is in the container, or the sandbox does not open."""
        victim, shown = tmp_path / "victim", tmp_path / "shown"
        victim.write_text("kept\n")
        shown.mkdir()
        name, (link, target) = f"localhost/ludus-test-{case}:1", LINKS[case]
        before = {place: os.lstat(place)[:6] for place in ("/etc/passwd", "/usr", "/etc", "/dev")}
        self.load(image_tar(links={link: target.replace("VICTIM", str(victim)[1:])}), name)
        policy = Policy(mounts=(Mount(str(shown), "/ludus/tools"),))
        try:
            with open_sandbox(policy, backend=self.backend, image=name, label=case) as box:
                script = "echo x > /ludus/tools/x; echo 1 > /workspace/f && cat /workspace/f"
                assert box.run(["/bin/bash", "-c", script]).stdout == b"1\n"
        except SandboxError:
            assert not [name for name in self.containers() if case in name]
        finally:
            self.unload(name)
        assert before == {place: os.lstat(place)[:6] for place in before}
        assert victim.read_text() == "kept\n"
        assert not [*shown.iterdir()]

    def test_an_image_whose_sleep_does_something_else(self):
        """It has the sandbox's user and limits, and ends with the sandbox."""
        name = "localhost/ludus-test-restless:1"
        self.load(image_tar({"bin/sleep": RESTLESS}), name)
        try:
            policy = Policy(pids=32)
            with open_sandbox(policy, backend=self.backend, image=name) as box:
                status = Path(f"/proc/{self.first_process(box)}/status").read_text()
                assert f"Uid:\t{box._uid}\t" in status
                assert "NoNewPrivs:\t1" in status
                # It may leave no process for others.
                with suppress(SandboxError):
                    done = box.run(["bash", "-c", "echo x > /etc/x && echo yes"], timeout=20)
                    assert not done.stdout
                used = box.usage().pids_now
                assert used is not None
                assert used <= 34
                container = f"ludus-{box.name}"
            assert container not in self.containers()
        finally:
            self.unload(name)

    def first_process(self, box) -> int:
        """Return the pid of a box's container."""
        raise NotImplementedError

    def health_checks(self, box) -> bool:
        """Return whether the engine runs programs in a box by itself."""
        raise NotImplementedError

    def volumes(self) -> list[str]:
        raise NotImplementedError

    def test_gpus_that_are_not_there(self):
        if device_nodes() or cdi_gpus():
            pytest.skip("this machine has a GPU")
        with pytest.raises(PolicyNotEnforceable, match="this machine has none") as caught:
            open_sandbox(Policy(gpus=1), backend=self.backend, label="gpuless")
        assert caught.value.reasons.keys() == {"gpus"}
        assert not [name for name in self.containers() if "gpuless" in name]

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
