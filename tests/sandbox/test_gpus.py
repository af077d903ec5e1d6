"""GPUs: found by CDI files, chosen, passed through by the engines; without one, refused."""

from __future__ import annotations

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from ludus.errors import PolicyNotEnforceable, SandboxUnavailable
from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.backend import docker
from ludus.sandbox.backend.docker import Docker
from ludus.sandbox.backend.gpus import Gpu, cdi_gpus, device_files, device_nodes, reserve
from tests.sandbox.containers_suite import image_tar
from tests.sandbox.engines import ask, load_image, unload_image
from tests.sandbox.fake_gpus import KIND, run_with_gpus, why_no_fake, write_cdi
from tests.sandbox.support import needs, why_not

IMAGE = "localhost/ludus-test-gpu:1"

NVIDIA = """\
cdiVersion: "0.5.0"
kind: nvidia.com/gpu
containerEdits:
  deviceNodes: [{path: /dev/nvidiactl}, {path: /dev/nvidia-uvm}]
devices:
- name: "0"
  containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
- name: "10"
  containerEdits: {deviceNodes: [{path: /dev/nvidia10}]}
- name: "2"
  containerEdits: {deviceNodes: [{path: /dev/nvidia2, hostPath: /dev/other2}]}
- name: GPU-5d2c8a44-0000-1111-2222-333344445555
  containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
- name: all
  containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia2}]}
"""


def test_a_cdi_file(tmp_path):
    """One GPU with two names is one; all of them are none."""
    (tmp_path / "nvidia.yaml").write_text(NVIDIA)
    (tmp_path / "other.json").write_text('{"kind": "example.com/nic", "devices": [{"name": "0"}]}')
    for number, text in enumerate(
        ("[", "[]", "kind: a/gpu\ndevices: 3", "kind: a/gpu\ndevices: [1]", "\0", "x" * 5_000_000)
    ):
        (tmp_path / f"broken{number}.yaml").write_text(text)
    found = cdi_gpus([str(tmp_path), "/nowhere"])
    assert [gpu.name for gpu in found] == [f"nvidia.com/gpu={n}" for n in (0, 2, 10)]
    assert device_files(found[:2]) == (
        ("/dev/nvidia0", "/dev/nvidia0"),
        ("/dev/nvidiactl", "/dev/nvidiactl"),
        ("/dev/nvidia-uvm", "/dev/nvidia-uvm"),
        ("/dev/other2", "/dev/nvidia2"),
    )


def test_what_a_record_says_of_one(tmp_path):
    folder = tmp_path / "0000:01:00.0"
    folder.mkdir()
    (folder / "information").write_text(
        "Model: \t\t NVIDIA A100\nGPU UUID:   \t GPU-1234\nDevice Minor: \t 2\n"
    )
    gpus = [Gpu(f"nvidia.com/gpu={n}", (f"/dev/nvidia{n}",)) for n in (1, 2)]
    assert [gpu.described(str(tmp_path)) for gpu in gpus] == [
        {"device": "nvidia.com/gpu=1"},
        {"device": "nvidia.com/gpu=2", "model": "NVIDIA A100", "uuid": "GPU-1234"},
    ]


def test_those_that_nobody_uses_are_taken_first(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_STATE", str(tmp_path / "state"))
    found = tuple(Gpu(f"a.b/gpu={number}") for number in range(3))
    first = reserve(1, found)
    second = reserve(1, found)
    third = reserve(2, found)  # one of them is shared
    assert (first.names, second.names) == (("a.b/gpu=0",), ("a.b/gpu=1",))
    assert third.names == ("a.b/gpu=2", "a.b/gpu=0")
    second.close()
    assert reserve(1, found).names == ("a.b/gpu=1",)
    assert reserve(("a.b/gpu=2", "a.b/gpu=0"), found).names == ("a.b/gpu=2", "a.b/gpu=0")
    with pytest.raises(PolicyNotEnforceable, match=r"has 3: a\.b/gpu=0, a\.b/gpu=1"):
        reserve(4, found)
    with pytest.raises(PolicyNotEnforceable, match=r"there is no a\.b/gpu=7; found a\.b/gpu=0"):
        reserve(("a.b/gpu=7",), found)


@pytest.mark.parametrize(
    "gpus",
    [-1, 65, 1.0, True, "1", "nvidia.com/gpu=0", (), ("0",), ("--privileged",),
     ("a.b/gpu=0", "a.b/gpu=0"), ("a.b/gpu=0 -v /:/x",), ("/dev/sda",), ("a.b/gpu=0\n",), None],
)  # fmt: skip
def test_a_policy_with_gpus_that_cannot_be_meant(gpus):
    with pytest.raises(ValueError, match=r"Policy\.gpus"):
        Policy(gpus=gpus)


@pytest.mark.parametrize("backend", ["bubblewrap", "gvisor", "process"])
def test_backends_without_gpus(backend):
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")
    with pytest.raises(PolicyNotEnforceable, match="Use the podman or docker backend") as caught:
        open_sandbox(Policy(memory=None, cpus=None, gpus=1), backend=backend)
    assert caught.value.reasons.keys() == {"gpus"}


@pytest.mark.parametrize("backend", ["podman", "docker"])
def test_a_machine_without_one(backend):
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")
    if device_nodes() or cdi_gpus():
        pytest.skip("this machine has a GPU")
    with pytest.raises(PolicyNotEnforceable, match="this machine has none: no device file"):
        open_sandbox(Policy(gpus=1), backend=backend)


PROGRAM = """
import json, sys
from ludus.errors import PolicyNotEnforceable
from ludus.sandbox import Policy, open_sandbox

TRY = "exec 3<>/dev/ludusgpu{n} && echo yes"
told = {}
how = {} if sys.argv[1] == "host" else {"image": sys.argv[1]}
with open_sandbox(Policy(gpus=1), **how) as box:
    told["backend"], told["gpus"] = box.backend, box.gpus
    told["tries"] = [box.run(["bash", "-c", TRY.format(n=n)]).text for n in range(2)]
    told["by shell"] = box.shell().run(TRY.format(n=0)).text
    told["made"] = box.run(["bash", "-c", "echo x > /dev/y; echo x > /etc/driver.cache"]).returncode
    told["hooked"] = box.run(["cat", "/etc/driver.cache"]).text
    told["variable"] = box.run(["bash", "-c", "echo $LUDUS_FAKE_GPU"]).text
    with open_sandbox(Policy(gpus=1), **how) as other:
        told["other"] = other.gpus
    with open_sandbox(Policy(), backend="podman") as no:
        told["without"] = [no.run(["bash", "-c", TRY.format(n=n)]).text for n in range(2)]
with open_sandbox(Policy(gpus=("ludus.example/gpu=1",)), **how) as box:
    told["named"] = [box.run(["bash", "-c", TRY.format(n=n)]).text for n in range(2)]
for gpus in (3, ("nvidia.com/gpu=0",)):
    try:
        open_sandbox(Policy(gpus=gpus), **how)
    except PolicyNotEnforceable as problem:
        told.setdefault("refused", []).append(str(problem))
print(json.dumps(told))
"""


@pytest.mark.skipif(bool(why_no_fake()), reason=str(why_no_fake()))
@needs("podman")
@pytest.mark.parametrize("root", ["host", IMAGE])
def test_podman_passes_them_through(tmp_path, root):
    """The device can be opened by those who have it, and by nobody else."""
    write_cdi(tmp_path / "cdi", 2, hook=True)
    load_image("podman", image_tar(), IMAGE)
    try:
        told = run_with_gpus(tmp_path / "cdi", PROGRAM, root)
    finally:
        unload_image("podman", IMAGE)
    assert (told["backend"], told["gpus"]) == ("podman", [f"{KIND}=0"])
    assert told["tries"] == ["yes\n", ""]
    assert told["by shell"] == "yes\n"
    assert told["other"] == [f"{KIND}=1"]
    assert told["without"] == ["", ""]
    assert told["named"] == ["", "yes\n"]
    assert "this machine has 2" in told["refused"][0]
    assert "there is no nvidia.com/gpu=0; found" in told["refused"][1]
    assert told["made"] != 0
    # Hooks and variables of the CDI file: an image's sandbox has what the hook made.
    assert told["hooked"] == ("" if root == "host" else "hooked\n")
    assert told["variable"] == "\n"


class WithGpu(Docker):
    """Docker on a machine whose GPU is a harmless device."""

    node = ""

    @classmethod
    def find_gpus(cls):
        return (Gpu(f"{KIND}=0", ("/dev/ludusgpu0",), ((cls.node, "/dev/ludusgpu0"),)),)


@needs("docker")
def test_docker_passes_device_files_to_sandboxes_of_the_hosts_folders(tmp_path):
    write_cdi(tmp_path / "cdi", 1)
    WithGpu.node = str(tmp_path / "cdi" / "gpu0")
    with WithGpu(Policy(gpus=1)) as box:
        assert box.gpus == (f"{KIND}=0",)
        opened = box.run(["bash", "-c", "exec 3<>/dev/ludusgpu0 && echo yes"])
        assert opened.text == "yes\n", opened.error_text
    with open_sandbox(Policy(), backend="docker") as box:
        assert box.run(["ls", "/dev/ludusgpu0"]).returncode != 0


@needs("docker")
def test_docker_without_a_driver_says_what_to_install(tmp_path):
    """For a sandbox of an image, the daemon itself has to know the GPU."""
    load_image("docker", image_tar(), IMAGE)
    try:
        write_cdi(tmp_path / "cdi", 1)
        WithGpu.node = str(tmp_path / "cdi" / "gpu0")
        with pytest.raises(SandboxUnavailable, match="NVIDIA Container Toolkit"):
            WithGpu(Policy(gpus=1), image=IMAGE, label="no-driver")
        rows = ask("GET", "/containers/json?all=1")
        assert not [row for row in rows if "no-driver" in row["Names"][0]]
    finally:
        unload_image("docker", IMAGE)


class Info(BaseHTTPRequestHandler):
    """What a daemon with CDI says of itself."""

    folders: list[str] = []

    def do_GET(self):
        body = json.dumps({"CDISpecDirs": self.folders}).encode()
        self.send_response(200 if self.path == "/info" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

    def address_string(self):
        return "here"


def test_a_docker_that_takes_cdi_files_is_asked_by_name(tmp_path, monkeypatch):
    (tmp_path / "nvidia.yaml").write_text(NVIDIA)
    path = str(tmp_path / "sock")
    Info.folders = [str(tmp_path)]
    with socketserver.UnixStreamServer(path, Info) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        found = Docker.find_gpus()
        assert [gpu.name for gpu in found] == [f"nvidia.com/gpu={n}" for n in (0, 2, 10)]
        asked = docker._device_request(path, found[:2])
        assert asked == {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0", "nvidia.com/gpu=2"]}
        Info.folders = []
        asked = docker._device_request(path, found[1:2])
        assert asked == {"Driver": "nvidia", "DeviceIDs": ["2"], "Capabilities": [["gpu"]]}
        server.shutdown()
