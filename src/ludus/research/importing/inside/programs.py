"""Runs an imported program in the grader's sandbox."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ludus.errors import GradingFailed

__all__ = ["run_program"]

_PRINTED = Path("/tmp/printed")  # noqa: S108 - the sandbox's own
_SHOWN = 64 << 10


def run_program(
    what: str, argv: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[int, str]:
    """Run a program and return its exit code, and the end of what it printed.

    Raises:
        GradingFailed: It takes too long.
    """
    with _PRINTED.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise GradingFailed(f"{what} took more than {seconds:g} seconds.") from None
        finally:
            # What it left running must not write while its results are read.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    with _PRINTED.open("rb") as file:
        file.seek(max(_PRINTED.stat().st_size - _SHOWN, 0))
        return code, file.read(_SHOWN).decode("utf-8", "replace")
