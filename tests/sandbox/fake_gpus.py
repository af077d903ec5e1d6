"""Runs a program where podman finds CDI files with GPUs that are none: nodes of a harmless device.

The files are seen by that program and what it starts: the folder that podman reads is mounted over
in a mount namespace of its own. The device is that of FUSE, which engines give to nobody unless
they are asked to, and which can do nothing without the right to mount.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path("/run/cdi")
KIND = "ludus.example/gpu"
MAJOR, MINOR = 10, 229
# What a driver's hook does: it changes a file below /etc while the container is made.
HOOK = """#!/bin/sh
bundle=$(sed 's/.*"bundle":"\\([^"]*\\)".*/\\1/')
root=$(sed 's/.*"root":{"path":"\\([^"]*\\)".*/\\1/' "$bundle/config.json")
echo hooked > "$root/etc/driver.cache"
"""
PREPARE = f'mount -t tmpfs tmpfs {FOLDER} && cp {{files}}/*.json {FOLDER} && exec "$@"'


def why_no_fake() -> str | None:
    """Return why such a program cannot be run here."""
    if os.geteuid() != 0:
        return "a mount namespace needs root"
    return None if shutil.which("unshare") else "found no unshare"


def write_cdi(folder: Path, count: int, *, hook: bool = False) -> None:
    """Write a CDI file with GPUs, and make their nodes beside it."""
    folder.mkdir(exist_ok=True)
    devices = []
    for number in range(count):
        outside, inside = folder / f"gpu{number}", f"/dev/ludusgpu{number}"
        os.mknod(outside, 0o020666, os.makedev(MAJOR, MINOR))
        outside.chmod(0o666)
        # podman 4.3 makes the node by its numbers, a sandbox of the host's folders by its path.
        node = {"path": inside, "hostPath": str(outside), "type": "c", "permissions": "rw"}
        node |= {"major": MAJOR, "minor": MINOR, "fileMode": 0o666}
        devices.append({"name": str(number), "containerEdits": {"deviceNodes": [node]}})
    common = {"env": ["LUDUS_FAKE_GPU=1"]}
    if hook:
        script = folder / "hook.sh"
        script.write_text(HOOK)
        script.chmod(0o755)
        made = {"hookName": "createContainer", "path": str(script), "args": ["hook"]}
        common["hooks"] = [made]
    told = {"cdiVersion": "0.5.0", "kind": KIND, "devices": devices, "containerEdits": common}
    (folder / "ludus.json").write_text(json.dumps(told))


def run_with_gpus(folder: Path, program: str, *words: str) -> dict:
    """Run a Python program with the GPUs of a folder; return what it prints last, parsed."""
    FOLDER.mkdir(exist_ok=True)
    script = PREPARE.format(files=folder)
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", program, *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
