"""Arranges the mounts of stages that are made without root.

Only a process with a single thread can enter another user namespace. Starting a Python for each
sandbox would take longer than the rest of opening it. So one helper process per owner is started
with the first sandbox, and forks for each. It reads plans from its input and ends with it.
"""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ludus.errors import SandboxError

__all__ = ["arrange_stage", "start_arranger"]

# Replaces the package, whose imports would take long.
_BOOT = """
import sys
for name, folder in zip(("ludus", "ludus.sandbox", "ludus.sandbox.linux"), sys.argv[1:4]):
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = [folder]
from ludus.sandbox.linux.mounts import serve
serve()
"""
_PATIENCE = 20.0
_guard = threading.Lock()
_running: dict[int, subprocess.Popen[bytes]] = {}


def _renew_guard() -> None:
    """Replace the lock in a fork: another thread may have held it."""
    global _guard
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_renew_guard)


def start_arranger() -> None:
    """Start the process unless it runs; it gets ready while the caller does something else."""
    with _guard:
        _arranger()


def arrange_stage(holder: int, plan: Mapping[str, Any]) -> None:
    """Mount a plan in the namespaces of a process.

    Args:
        holder: pid of the process.
        plan: ``folder``, where to mount; ``sizes`` of file systems to limit, by path; ``shown``,
            pairs of a folder and the steps of its mask.

    Raises:
        SandboxError: it cannot be mounted, or the process has ended.
    """
    words = b"".join(os.fsencode(f"{word}\0") for word in (holder, *_words(plan)))
    with _guard:
        arranger = _arranger()
        try:
            answer = _ask(arranger, b"%d\n%b" % (len(words), words))
        except BaseException:
            # Its answer may still come, and would be taken for that of the next plan.
            arranger.kill()
            raise
    if answer != b"done\n":
        said = answer.decode("utf-8", "replace").strip() or "the process that does it has ended"
        raise SandboxError(f"Cannot set up the sandbox: {said}.")


def _words(plan: Mapping[str, Any]) -> Iterator[str | int]:
    """Yield a plan word by word, as ``arrange.serve`` reads it: json would take long to import."""
    yield plan["folder"]
    yield len(plan["sizes"])
    for path, size in plan["sizes"].items():
        yield from (path, size)
    for source, steps in plan["shown"]:
        yield from (source, len(steps))
        for kind, path, *more in steps:
            yield from (kind, path, *(more or ("",)))


def _ask(arranger: subprocess.Popen[bytes], plan: bytes) -> bytes:
    if arranger.stdin is None or arranger.stdout is None:
        raise SandboxError("The process that arranges stages has no streams.")
    try:
        arranger.stdin.write(plan)
        arranger.stdin.flush()
    except BrokenPipeError:
        return b""
    poller = select.poll()
    poller.register(arranger.stdout, select.POLLIN)
    if not poller.poll(_PATIENCE * 1000):
        raise SandboxError(f"Cannot set up the sandbox: not mounted within {_PATIENCE:g} s.")
    return arranger.stdout.readline()


def _arranger() -> subprocess.Popen[bytes]:
    """Return the helper of this process, started on first use; a fork has its own."""
    found = _running.get(os.getpid())
    if found is None or found.poll() is not None:
        linux = Path(__file__).parent
        packages = map(str, (linux.parents[1], linux.parent, linux))
        python = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", _BOOT]
        found = subprocess.Popen(  # noqa: S603 - our own program
            [*python, *packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
        _running[os.getpid()] = found
        atexit.register(_end, found)
    return found


def _end(arranger: subprocess.Popen[bytes]) -> None:
    if arranger is _running.get(os.getpid()):
        arranger.communicate()
