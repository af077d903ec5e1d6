"""A Docker daemon of the tests' own: one per test run, shared by its processes, gone with it.

It has its own data, socket and control files in a folder of its own, no bridge and no firewall
rules. A daemon that the machine already runs is never asked for anything.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

__all__ = ["why_no_daemon"]

FOLDERS = "ludus-docker-"
PATIENCE = 30.0
PLACES = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
# It outlives the test that starts it: forgotten while it runs, it would fail that test.
STARTED: list[subprocess.Popen[bytes]] = []
PRIVATE = ("--iptables=false", "--ip6tables=false", "--bridge=none")


@cache
def why_no_daemon() -> str | None:
    """Start or find the daemon of this test run, and point the backend to it."""
    if os.geteuid() != 0:
        return "a daemon of the tests' own needs root"
    if shutil.which("dockerd") is None:
        return "found no dockerd; `make test-all` installs it as root"
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    # The processes of one test run have one parent, which outlives them.
    owner = os.getppid() if run else os.getpid()
    folder = Path(f"/tmp/{FOLDERS}{run or owner}")
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _answers(folder / "sock"):
            _forget_dead(folder)
            argv = [sys.executable, "-m", "tests.sandbox.daemon", str(folder), str(owner)]
            STARTED.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True))
            until = time.monotonic() + PATIENCE
            while not _answers(folder / "sock"):
                if time.monotonic() > until:
                    return f"dockerd does not start: {(folder / 'log').read_text()[-500:]}"
                time.sleep(0.05)
    os.environ["DOCKER_HOST"] = f"unix://{folder / 'sock'}"
    return None


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(path))
            client.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b"200" in client.recv(64)
        except OSError:
            return False


def _forget_dead(own: Path) -> None:
    """Remove folders of runs that were killed so hard that nobody could."""
    for folder in own.parent.glob(f"{FOLDERS}*"):
        if folder == own or not (folder / "watch").exists():
            continue
        with (folder / "watch").open("w") as watch:
            try:
                fcntl.flock(watch, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            shutil.rmtree(folder, ignore_errors=True)


def serve(folder: Path, owner: int) -> None:
    """Run the daemon as long as the process ``owner`` lives."""
    life = os.pidfd_open(owner)
    with (folder / "watch").open("w") as watch, (folder / "log").open("w") as log:
        fcntl.flock(watch, fcntl.LOCK_EX)
        places = [f"--{name}={folder / path}" for name, path in PLACES.items()]
        argv = ["dockerd", *PRIVATE, *places, f"--host=unix://{folder / 'sock'}"]
        daemon = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit())
            _wait_for_end(life, daemon)
        finally:
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _wait_for_end(life: int, daemon: subprocess.Popen[bytes]) -> None:
    poller = select.poll()
    poller.register(life, select.POLLIN)
    while not poller.poll(1000) and daemon.poll() is None:
        pass


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
