"""Start programs with Ludus in place of Gymnasium.

``LUDUS_AS_GYMNASIUM=1`` installs the import alias when a Python process starts. The variable is
read by ``ludus_alias.pth``, which is installed beside Ludus, or by the ``sitecustomize`` module in
the folder ``site``, which is put on ``PYTHONPATH`` for running from a checkout. Child processes
inherit both variables.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

__all__ = ["VARIABLE", "child_environment", "run", "run_with"]

VARIABLE = "LUDUS_AS_GYMNASIUM"

_SITE = str(Path(__file__).with_name("site"))


def child_environment(variable: str = VARIABLE) -> dict[str, str]:
    """Return the environment variables that install an alias in a child process."""
    inherited = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    path = [_SITE, *(part for part in inherited if part != _SITE)]
    return {variable: "1", "PYTHONPATH": os.pathsep.join(path)}


def run(argv: list[str]) -> int:
    """Run a command with Ludus in place of Gymnasium and return its exit status.

    Args:
        argv: The command, for example ``["python", "train.py"]``; a Python file is run by this
            interpreter.

    Returns:
        The command's status; 128 + n if signal n ended it; 127 if it cannot be found.

    Raises:
        ValueError: The command is empty.
    """
    if not argv:
        raise ValueError("No command given; for example: ludus as-gymnasium -- python train.py")
    try:
        return run_with(child_environment(), argv)
    except (FileNotFoundError, PermissionError) as problem:
        sys.stderr.write(f"ludus as-gymnasium: cannot run {argv[0]!r}: {problem.strerror}\n")
        return 127


def run_with(environment: dict[str, str], argv: Sequence[str]) -> int:
    """Run a command with environment variables and return its status as a shell does.

    Raises:
        OSError: It cannot be run.
    """
    command = [sys.executable, *argv] if argv[0].endswith(".py") else list(argv)
    # Running the user's command is the purpose.
    process = subprocess.Popen(command, env={**os.environ, **environment})  # noqa: S603
    status = _follow(process)
    return status if status >= 0 else 128 - status


def _follow(process: subprocess.Popen[bytes]) -> int:
    """Wait for a program and pass signals on to it; return its status."""

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    # The terminal sends SIGINT to both processes, but SIGTERM reaches only this one.
    previous = signal.signal(signal.SIGTERM, pass_on)
    try:
        return _wait(process)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _wait(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
