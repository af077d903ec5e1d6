"""The host's side of the stage: victims, listeners, and finding what an attack left running."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from ludus.errors import SandboxError
from tests.sandbox.attacks.attack import Scene

__all__ = [
    "Hang",
    "carriers",
    "deadline",
    "end_carriers",
    "listen",
    "secret",
    "survivors",
    "victim",
]

_VICTIM = """
import ctypes, os, sys, time
buffer = ctypes.create_string_buffer(sys.stdin.buffer.readline().strip())
descriptor = os.open(sys.argv[1], os.O_RDONLY)
print(ctypes.addressof(buffer), descriptor, flush=True)
time.sleep(60)
"""


class Hang(Exception):
    """The host waited longer than it may."""


def secret(scene: Scene) -> Path:
    """A file that only its owner may read, with the canary in it."""
    scene.folder.chmod(0o700)
    path = scene.folder / "secret"
    path.write_text(scene.canary)
    path.chmod(0o600)
    return path


def victim(scene: Scene) -> None:
    """A host process holding the canary in environment, memory, working folder and descriptor."""
    path = secret(scene)
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _VICTIM, str(path)],
        cwd=path.parent,
        env={"CANARY": scene.canary},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    scene.stack.callback(_end, child)
    assert child.stdin
    assert child.stdout
    child.stdin.write(scene.canary.encode() + b"\n")
    child.stdin.close()
    address, descriptor = map(int, child.stdout.readline().split())
    scene.params |= {"pid": child.pid, "address": address, "descriptor": descriptor}
    scene.params |= {"length": len(scene.canary), "path": str(path)}
    scene.kept["victim"] = child


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    if child.stdout:
        child.stdout.close()


def listen(scene: Scene, family: int, kind: int, address: object) -> socket.socket:
    """A host socket that an attack must not reach."""
    server = socket.socket(family, kind)
    scene.stack.callback(server.close)
    server.bind(address)  # type: ignore[arg-type]
    if kind == socket.SOCK_STREAM:
        server.listen()
    server.setblocking(False)
    return server


def reached(server: socket.socket, wait: float = 0.05) -> bool:
    """Whether anybody connected, or sent a datagram."""
    return bool(select.select([server], [], [], wait)[0])


def carriers(token: str) -> list[int]:
    """The processes of the host whose command line holds a token; the living ones only."""
    found = []
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    # The youngest first: those that keep replacing each other are gone a moment later.
    for pid in sorted(numbers, reverse=True):
        if pid == os.getpid():
            continue
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            status = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
            if token.encode() in line and status[0] not in "ZX":
                found.append(pid)
    return found


def is_sleep(pid: int) -> bool:
    """Whether a process is the sleeper itself and not a launcher with it on its command line."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "sleep"
    return False


def members(name: str) -> list[int]:
    """The living processes of the host in the control groups of a box."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and f"/ludus-{name}\n" in (entry / "cgroup").read_text():
                status = (entry / "stat").read_text().rpartition(") ")[2]
                found += [int(entry.name)] if status[0] not in "ZX" else []
    return found


def on_kernel(box: Any, job: Any, token: str) -> list[int]:
    """The processes with a token on the kernel of a job, by that kernel's numbers."""
    enter = ["nsenter", f"--target={job.child.pid}", "--mount", "--net", "--pid", "--"]
    user = f"--user={box._owner()}:{box._owner()}"
    argv = [*enter, *job._runtime, "exec", user, "command", "/usr/bin/pgrep", "-f", token]
    return [int(word) for word in subprocess.run(argv, capture_output=True).stdout.split()]


def survivors(
    token: str, patience: float, look: Callable[[str], list[int]] | None = None
) -> list[int]:
    """The carriers of a token that are still there once patience has run out.

    ``look`` finds them, by default by the command lines of the host's processes.

    Two empty looks in a row are wanted: one can miss processes that keep replacing each other.
    """
    until, empty = time.monotonic() + patience, 0
    while True:
        found = (look or carriers)(token)
        empty = 0 if found else empty + 1
        if empty == 2 or (found and time.monotonic() > until):
            return found
        time.sleep(0.02)


def end_carriers(token: str) -> None:
    for pid in carriers(token):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `Hang` in a host that waits too long, then put back the timer that ran before."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"the host hung for {seconds} s")

    previous = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, previous)
        signal.setitimer(signal.ITIMER_REAL, left)


@contextmanager
def meanwhile(function: Callable[[], object]) -> Iterator[None]:
    """Run a function in a thread of its own; the box may be closed under it."""

    def run() -> None:
        with suppress(SandboxError):
            function()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """A variable in the host's own environment."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def closing(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor
