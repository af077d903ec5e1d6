"""Sandboxes in containers of Docker, through its daemon's socket: faster than its program."""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import socket
import tarfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ludus.errors import SandboxError, SandboxUnavailable
from ludus.sandbox.backend.blueprint import Blueprint
from ludus.sandbox.backend.containers import (
    SANDBOX_LABEL,
    ContainerSandbox,
    give_back_user,
    why_not_here,
)
from ludus.sandbox.backend.gpus import (
    CDI_FOLDERS,
    NVIDIA,
    Gpu,
    cdi_gpus,
    device_files,
    device_nodes,
    nvidia_gpus,
    refusal,
)
from ludus.sandbox.backend.images import Image, image_missing
from ludus.sandbox.backend.root_image import system_links
from ludus.sandbox.image_names import check_image_name
from ludus.sandbox.leases import Record
from ludus.sandbox.linux import seccomp

__all__ = ["Docker", "reclaim", "request", "socket_path"]

_ROOT = "ludus-root"
_GONE, _BUSY = 404, 409
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PATIENCE = 20.0


class Docker(ContainerSandbox):
    """A sandbox in a container of Docker. Open it with ``open_sandbox``."""

    backend = "docker"
    _socket: str | None = None

    @classmethod
    def unavailable(cls) -> str | None:
        """Return why sandboxes cannot be made here, by asking the daemon about itself."""
        if (reason := why_not_here()) is not None:
            return reason
        try:
            said = request(socket_path(), "GET", "/info", patience=5.0)
        except SandboxError as error:
            return (
                f"{error} Required is a running Docker 20.10 or later. Install it (apt-get "
                "install docker.io), start dockerd, or point DOCKER_HOST to its socket."
            )
        if any("userns" in option for option in said.get("SecurityOptions") or ()):
            return (
                "Found a daemon that remaps users, whose containers cannot be entered. Start it "
                "without --userns-remap, or use bubblewrap."
            )
        return None

    @classmethod
    def find_image(cls, name: str) -> Image:
        """Return an image of the daemon's."""
        where = f"/images/{quote(check_image_name(name), safe='/:@')}/json"
        try:
            return Image.of(name, request(socket_path(), "GET", where))
        except _Refusal as refused:
            if refused.status == _GONE:
                raise image_missing(name, "docker") from None
            raise

    @classmethod
    def find_gpus(cls) -> tuple[Gpu, ...]:
        """Return the GPUs of CDI files, or else those of NVIDIA that have a device file."""
        if found := _cdi_gpus(socket_path()):
            return found
        if found := nvidia_gpus():
            return found
        nodes = device_nodes()
        if not nodes:
            raise refusal(1, "this machine has none: no device file, and no CDI file.")
        raise refusal(
            1,
            f"Docker knows none: found {', '.join(nodes)}, required is a CDI file that lists them, "
            f"in {' or '.join(CDI_FOLDERS)}, and Docker 28, or 25 with the feature cdi.",
        )

    def _address(self) -> dict[str, Any]:
        self._socket = socket_path()
        return {"socket": self._socket}

    def _make(self, blueprint: Blueprint) -> int:
        path = self._socket or socket_path()
        # By its id: a name may mean another image by now.
        image = _root_image(path) if blueprint.image is None else blueprint.image.digest
        content = {"Image": image, **_config(blueprint)}
        if blueprint.gpus and blueprint.image is not None:
            content["HostConfig"]["DeviceRequests"] = [_device_request(path, blueprint.gpus)]
        made = request(path, "POST", f"/containers/create?name={blueprint.name}", content)
        try:
            request(path, "POST", f"/containers/{made['Id']}/start")
        except _Refusal as refused:
            if not blueprint.gpus or blueprint.image is None:
                raise
            raise SandboxUnavailable(
                f"Docker passes no GPU through: {refused} Required is the NVIDIA Container Toolkit "
                "(install nvidia-container-toolkit, run `nvidia-ctk runtime configure "
                "--runtime=docker`, restart dockerd), or a CDI file and Docker 28."
            ) from None
        found = request(path, "GET", f"/containers/{made['Id']}/json")
        return int(found["State"]["Pid"])

    def _remove(self) -> None:
        if self._socket is not None:
            _remove(self._socket, f"ludus-{self.name}", self.name)


def reclaim(record: Record) -> None:
    """Remove the container of a dead owner's sandbox, if its daemon is still there."""
    path, name = record.get("socket"), record.get("container")
    if path and name and Path(path).is_socket():
        _remove(path, name, record["name"])
    give_back_user(record)


def _config(blueprint: Blueprint) -> dict[str, Any]:
    policy = blueprint.policy
    variables = () if blueprint.image is None else blueprint.image.variables
    host: dict[str, Any] = {
        # The daemon removes the container when it ends, even if the owner was killed.
        "AutoRemove": True,
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": [
            "no-new-privileges",
            "label=disable",
            f"seccomp={json.dumps(seccomp.engine_profile())}",
        ],
        "NetworkMode": "host" if policy.network == "host" else "none",
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "LogConfig": {"Type": "none"},
        "PidsLimit": blueprint.pids or 0,
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "Tmpfs": {
            path: "rw" if size is None else f"rw,size={size}"
            for path, size in blueprint.sizes.items()
        },
        "Mounts": [
            {
                "Type": "bind",
                "Source": bind.source,
                "Target": bind.target,
                "ReadOnly": not bind.writable,
            }
            for bind in blueprint.binds
        ],
    }
    if blueprint.image is None:
        host["Devices"] = [
            {"PathOnHost": outside, "PathInContainer": inside, "CgroupPermissions": "rw"}
            for outside, inside in device_files(blueprint.gpus)
        ]
    if policy.memory is not None:
        host |= {"Memory": policy.memory, "MemorySwap": policy.memory}
    if policy.cpus is not None:
        host["NanoCpus"] = int(policy.cpus * 1e9)
    return {
        "Entrypoint": list(blueprint.argv),
        "Cmd": [],
        # A name without a value takes the image's variable away.
        "Env": [*(name for name in variables if name != "PATH"), f"PATH={_PATH}"],
        "Healthcheck": {"Test": ["NONE"]},
        "User": f"{blueprint.uid}:{blueprint.uid}",
        "WorkingDir": "/",
        "Labels": {SANDBOX_LABEL: blueprint.sandbox},
        **({} if policy.network == "host" else {"Hostname": "ludus"}),
        "HostConfig": host,
    }


def _cdi_gpus(path: str) -> tuple[Gpu, ...]:
    """Return the GPUs of CDI files, if the daemon takes devices from such files."""
    # The version of the interface that is used otherwise is older than this field.
    folders = request(path, "GET", "/info", version="").get("CDISpecDirs")
    return cdi_gpus(folders) if isinstance(folders, list) else ()


def _device_request(path: str, gpus: tuple[Gpu, ...]) -> dict[str, Any]:
    """Return what asks the daemon for GPUs: by CDI, or by its own driver for those of NVIDIA."""
    names = [gpu.name for gpu in gpus]
    if {gpu.name for gpu in _cdi_gpus(path)}.issuperset(names):
        return {"Driver": "cdi", "DeviceIDs": names}
    numbers = [name.removeprefix(NVIDIA) for name in names]
    return {"Driver": "nvidia", "DeviceIDs": numbers, "Capabilities": [["gpu"]]}


def _root_image(path: str) -> str:
    """Return an image with only the links of the host's root; Docker needs an image to start.

    It is built on first use and tagged with a digest of its contents.
    """
    links = system_links()
    name = f"{_ROOT}:{hashlib.sha256(json.dumps(links).encode()).hexdigest()[:12]}"
    try:
        request(path, "GET", f"/images/{name}/json")
    except _Refusal as refusal:
        if refusal.status != _GONE:
            raise
    else:
        return name
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for source, target in links.items():
            entry = tarfile.TarInfo(source.lstrip("/"))
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
            archive.addfile(entry)
        for folder in ("usr", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
    repo, tag = name.split(":")
    request(path, "POST", f"/images/create?fromSrc=-&repo={repo}&tag={tag}", packed.getvalue())
    return name


def _remove(path: str, name: str, sandbox: str) -> None:
    """Remove a sandbox's container and wait until it is gone; the daemon may have begun already."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            found = request(path, "GET", f"/containers/{quote(name)}/json")
            if found["Config"]["Labels"].get(SANDBOX_LABEL) != sandbox:
                return
            request(path, "DELETE", f"/containers/{found['Id']}?force=1&v=1")
        except _Refusal as refusal:
            if refusal.status == _GONE:
                return
            if refusal.status != _BUSY or time.monotonic() > until:
                raise
        time.sleep(0.005)


# The HTTP interface of the daemon ---------------------------------------------------------------

_SOCKET = "unix:///var/run/docker.sock"
_VERSION = "/v1.41"
_ANSWER_PATIENCE = 60.0


class _Refusal(SandboxError):
    """The daemon answered with an error ``status``."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of an address."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def socket_path() -> str:
    """Return the path of the daemon's socket: ``$DOCKER_HOST`` or the default.

    Raises:
        SandboxError: the daemon is on another machine, whose containers cannot be entered.
    """
    kind, _, path = (os.environ.get("DOCKER_HOST") or _SOCKET).partition("://")
    if kind != "unix":
        raise SandboxError(
            f"DOCKER_HOST is {kind}://{path}; sandboxes need a daemon on this machine. Expected "
            "unix:// and the path of its socket."
        )
    return path


def request(
    path: str,
    method: str,
    target: str,
    content: object = None,
    *,
    patience: float = _ANSWER_PATIENCE,
    version: str = _VERSION,
) -> Any:
    """Send an HTTP request to the daemon and return its answer, parsed if it is JSON.

    Bytes are sent as they are, other content as JSON. ``version`` is that of the interface; empty
    for the daemon's newest.

    Raises:
        _Refusal: it answered with an error.
        SandboxError: it cannot be reached within ``patience`` seconds.
    """
    body = content if isinstance(content, bytes) or content is None else json.dumps(content)
    kind = "application/x-tar" if isinstance(content, bytes) else "application/json"
    connection = _Connection(path, patience)
    try:
        connection.request(method, version + target, body, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise SandboxError(f"The Docker daemon at {path} does not answer: {error}.") from None
    finally:
        connection.close()
    if answer.status >= 300:
        said = text.decode("utf-8", "backslashreplace").strip()[-1000:]
        raise _Refusal(f"Docker refused {method} {target}: {said!r}.", answer.status)
    try:
        return json.loads(text)
    except ValueError:
        return text
