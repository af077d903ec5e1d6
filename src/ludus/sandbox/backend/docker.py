"""Sandboxes in containers of Docker, through its daemon's socket: faster than its program."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ludus.errors import SandboxError
from ludus.sandbox.backend.containers import (
    SANDBOX_LABEL,
    Blueprint,
    ContainerSandbox,
    give_back_user,
    why_not_here,
)
from ludus.sandbox.backend.engine_api import Refusal, request, socket_path
from ludus.sandbox.backend.root_image import system_links
from ludus.sandbox.leases import Record
from ludus.sandbox.linux import seccomp

__all__ = ["Docker", "reclaim"]

_ROOT = "ludus-root"
_GONE, _BUSY = 404, 409
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

    def _address(self) -> dict[str, Any]:
        self._socket = socket_path()
        return {"socket": self._socket}

    def _make(self, blueprint: Blueprint) -> int:
        path = self._socket or socket_path()
        content = {"Image": blueprint.image or _root_image(path), **_config(blueprint)}
        made = request(path, "POST", f"/containers/create?name={blueprint.name}", content)
        request(path, "POST", f"/containers/{made['Id']}/start")
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
    if policy.memory is not None:
        host |= {"Memory": policy.memory, "MemorySwap": policy.memory}
    if policy.cpus is not None:
        host["NanoCpus"] = int(policy.cpus * 1e9)
    return {
        "Entrypoint": list(blueprint.argv),
        "Cmd": [],
        "User": f"{blueprint.uid}:{blueprint.uid}",
        "WorkingDir": "/",
        "Labels": {SANDBOX_LABEL: blueprint.sandbox},
        **({} if policy.network == "host" else {"Hostname": "ludus"}),
        "HostConfig": host,
    }


def _root_image(path: str) -> str:
    """Return an image with only the links of the host's root; Docker needs an image to start.

    It is built on first use and tagged with a digest of its contents.
    """
    links = system_links()
    name = f"{_ROOT}:{hashlib.sha256(json.dumps(links).encode()).hexdigest()[:12]}"
    try:
        request(path, "GET", f"/images/{name}/json")
    except Refusal as refusal:
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
        except Refusal as refusal:
            if refusal.status == _GONE:
                return
            if refusal.status != _BUSY or time.monotonic() > until:
                raise
        time.sleep(0.005)
