"""Helper processes: started with limits, ended for sure."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

__all__ = ["end", "run_limited", "start"]

_CPU_SECONDS = 600


def start(command: list[str], *, memory: int | None = None) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, with pipes and, if given, a limit of memory.

    The limits are set by a small program that then becomes the command, because code must not run
    between fork and exec in a process that may have threads.
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
    """Run a command to its end, or kill it with all it started.

    Raises:
        subprocess.TimeoutExpired: It took longer than the seconds given.
    """
    process = start(command, memory=memory)
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    finally:
        end(process)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its session, and close its pipes; does nothing to one that ended."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
