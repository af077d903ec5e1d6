"""OCI bundles: the root and the config file that start a command in a container runtime.

They lie on the sandbox's stage, where only the runtime sees them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import Any

from ludus.sandbox.backend.root_image import ETC_BINDS, PLACES, system_folders, system_links
from ludus.sandbox.backend.stage import RootStage
from ludus.sandbox.linux import exec_command, seccomp, syscalls
from ludus.sandbox.linux.visible_files import python_roots
from ludus.sandbox.policy import Policy
from ludus.sandbox.process_handle import SandboxCommand

__all__ = ["BundleStage"]

_TOOLS, _CHANNEL = "/run/ludus", "/run/shell"
_CLOSED, _OPEN = ["rbind", "ro", "nosuid", "nodev"], ["rbind", "rw", "nosuid", "nodev"]
_SPACES = ("pid", "ipc", "uts", "mount")
_CAPABILITIES = ("bounding", "effective", "inheritable", "permitted", "ambient")
_MIB = 1 << 20
# For links gVisor fails in a way that programs do not take for "none".
_UNSUPPORTED = ("lgetxattr", "llistxattr")


class BundleStage(RootStage):
    """A stage for a runtime that is started once per command, by root, in the sandbox's thread."""

    def __init__(self, folder: Path, policy: Policy, workspace: Path | None, uid: int) -> None:
        super().__init__(folder, policy, workspace, uid)
        # The sandbox's files have their owners on the host as they have them inside.
        self.inside = uid
        self._numbers = count()
        self._mounts: list[dict[str, Any]] = []

    def _settle(self) -> None:
        """Put the root and the tools together, and stay root for the runtime."""
        tools, root = self.folder / "tools", self.folder / "root"
        for path in (tools, root, self.folder / "jobs"):
            path.mkdir()
        plain = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
        syscalls.mount("tmpfs", str(self.folder / "jobs"), "tmpfs", plain, "size=64m,mode=700")
        shutil.copyfile(exec_command.__file__, tools / "inside.py")
        (tools / "filter").write_bytes(
            seccomp.program(
                self.policy.network,
                netlink=self.policy.memory is None,
                unsupported=_UNSUPPORTED,
            )
        )
        for path in (tools / "inside.py", tools / "filter"):
            path.chmod(0o644)
        for name, target in system_links().items():
            (root / name.lstrip("/")).symlink_to(target)
        self._mounts = self._table(str(tools))
        for mount in (*self._mounts, {"destination": _CHANNEL}):
            _make_point(root, mount)

    def _table(self, tools: str) -> list[dict[str, Any]]:
        shown = [(self.shown(path), path) for path in system_folders()]
        shown += [(str(self.etc), "/etc")]
        etc = [f"/etc/{name}" for name in ETC_BINDS if Path("/etc", name).is_dir()]
        shown += [(self.shown(path), path) for path in etc]
        shown += [(tools, _TOOLS)]
        made = [_bind(source, target, writable=False) for source, target in shown]
        made += [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
        ]
        made += [_bind(self.place(name), place, writable=True) for place, name in PLACES.items()]
        # After the places: Python, too, may lie below /tmp.
        made += [_bind(self.shown(path), path, writable=False) for path in python_roots()]
        made += [
            _bind(self.source(mount), mount.target, writable=mount.writable)
            for mount in self.policy.mounts
        ]
        return made

    def describe(self, command: SandboxCommand, pids: int | None) -> tuple[Path, Path | None]:
        """Write the bundle of a command; return its folder and the status channel of a shell.

        Must be called in the sandbox's thread, the only one that sees the stage.
        """
        folder = self.folder / "jobs" / str(next(self._numbers))
        folder.mkdir()
        mounts, channel = self._mounts, None
        if command.is_shell:
            channel = folder / "channel" / "status"
            channel.parent.mkdir(mode=0o755)
            os.mkfifo(channel, 0o600)
            os.chown(channel, self.uid, self.uid)
            mounts = [*mounts, _bind(str(channel.parent), _CHANNEL, writable=True)]
        made = {
            "ociVersion": "1.0.2",
            "hostname": "ludus",
            "root": {"path": str(self.folder / "root"), "readonly": True},
            "mounts": mounts,
            "process": {
                "user": {"uid": self.uid, "gid": self.uid},
                "args": _words(command),
                "cwd": "/",
                "capabilities": {name: [] for name in _CAPABILITIES},
                "noNewPrivileges": True,
                "rlimits": _limits(self.policy.files, pids),
            },
            "linux": {"namespaces": [{"type": name} for name in _SPACES]},
        }
        (folder / "config.json").write_text(json.dumps(made))
        return folder, channel

    @staticmethod
    def channel_inside(channel: Path) -> str:
        """Return where a shell finds its status channel."""
        return f"{_CHANNEL}/{channel.name}"


def _words(command: SandboxCommand) -> list[str]:
    """Return the command line for ``exec_command.main``, after the program that runs it.

    The command's variables are passed as arguments, since they are not for that program.
    """
    variables = [f"{key}={text}" for key, text in command.env.items()]
    kind = "shell" if command.is_shell else "program"
    given = [kind, command.cwd, str(len(variables)), *variables, *command.argv]
    # A description is text; this way every byte has a character.
    safe = [os.fsencode(word).decode("latin-1") for word in given]
    python = os.path.realpath(sys.executable)
    return [python, "-I", "-S", "-B", f"{_TOOLS}/inside.py", f"{_TOOLS}/filter", *safe]


def _limits(files: int | None, pids: int | None) -> list[dict[str, Any]]:
    limits = {"RLIMIT_CORE": 0, "RLIMIT_MEMLOCK": 8 * _MIB}
    if files is not None:
        limits["RLIMIT_NOFILE"] = files
    if pids is not None:
        limits["RLIMIT_NPROC"] = pids
    return [{"type": name, "hard": value, "soft": value} for name, value in limits.items()]


def _bind(source: str, target: str, *, writable: bool) -> dict[str, Any]:
    options = _OPEN if writable else _CLOSED
    return {"destination": target, "type": "bind", "source": source, "options": options}


def _make_point(root: Path, mount: dict[str, Any]) -> None:
    """Make a folder or file on which to mount."""
    target = root / mount["destination"].lstrip("/")
    if not target.resolve().is_relative_to(root.resolve()):
        return  # by way of a link to a system folder, which is the host's here
    if Path(mount.get("source", "/")).is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    else:
        target.mkdir(parents=True, exist_ok=True)
