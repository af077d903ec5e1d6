"""Child processes with limits of time and memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

__all__ = ["end", "run_limited", "start"]

_CPU_SECONDS = 600


def start(command: list[str], *, memory: int | None = None) -> subprocess.Popen[bytes]:
    """Start a process in a new session, with pipes and an optional memory limit.

    A small program sets the limits and then executes the command, because ``preexec_fn`` is not
    safe in a process with threads.
    """
    prefix = []
    if memory is not None:
        prefix = [sys.executable, "-I", "-S", "-c", _LIMITER, str(memory), str(_CPU_SECONDS)]
    return subprocess.Popen(  # noqa: S603 - the commands are ours
        [*prefix, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


_LIMITER = """
import os, resource, sys
memory, cpu = map(int, sys.argv[1:3])
for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, cpu),
                   (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(kind, (most, most))
os.execv(sys.argv[3], sys.argv[3:])
"""


def run_limited(
    command: list[str], *, seconds: float, memory: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command; kill it and its children at the time limit.

    Raises:
        subprocess.TimeoutExpired: The command took too long.
    """
    process = start(command, memory=memory)
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    finally:
        end(process)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its session, unless it has ended, and close its pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
