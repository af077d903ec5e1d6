"""``ludus serve`` as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Served:
    """The process of a server, its port, and the file that its log is written to."""

    process: subprocess.Popen[str]
    port: int
    log: Path


@contextmanager
def serving(*arguments: str, **variables: str) -> Iterator[Served]:
    """Run the command on a free port of 127.0.0.1, and end it by SIGTERM if it still runs."""
    order = [sys.executable, "-m", "ludus", "serve", *arguments, "--port", "0"]
    # Not a pipe, which fills up where nobody reads it.
    with tempfile.NamedTemporaryFile("w") as log:
        process = subprocess.Popen(
            order,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **variables},
        )
        try:
            assert process.stdout is not None
            found = re.search(r"https?://[\d.]+:(\d+)", process.stdout.readline())
            if found is None:
                raise AssertionError(f"the server did not start: {Path(log.name).read_text()}")
            yield Served(process, int(found[1]), Path(log.name))
        finally:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=60)


def failed(*arguments: str, **variables: str) -> tuple[int, str]:
    """Return exit code and message of a command that should not serve."""
    done: Any = subprocess.run(
        [sys.executable, "-m", "ludus", "serve", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **variables},
        check=False,
    )
    return done.returncode, done.stderr
