"""The viewer in a process of its own, beside a run that goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ludus.errors import ViewError
from ludus.optional import check_installed

__all__ = ["ViewerBeside"]

_STOP_SECONDS = 5.0
_MODULES = ("jinja2", "starlette", "uvicorn")


class ViewerBeside:
    """Serves the viewer of a run's folder while its context is entered.

    Another process serves it, so that the run is as fast as without it.

    Args:
        folder: Of the run; made if it does not exist yet.
        say: Is called with a line that has the address.

    Raises:
        DependencyNotInstalled: The extra ``view`` is not installed.
        ViewError: The viewer does not start.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        for module in _MODULES:
            check_installed(module, extra="view")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(  # noqa: S603 - this program itself
            # Not from the current folder, as in every process of the viewer.
            [sys.executable, "-P", "-m", "ludus", "view", "--port", "0", "--", str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        output = self._process.stdout
        line = output.readline() if output is not None else ""
        if not line:
            self.close()
            raise ViewError(f"The viewer of {self._folder} did not start.")
        self._say(line.strip())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Serve on until Ctrl-C, if somebody is at the terminal."""
        if self._process is not None and sys.stdout.isatty():
            with suppress(KeyboardInterrupt):
                self._process.wait()

    def close(self) -> None:
        """Stop the viewer; again is allowed."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
