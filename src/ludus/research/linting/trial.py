"""Preparing a task in a process of its own, which watches what files are read meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.errors import DataMissing, TaskError
from ludus.research.data.preparation import prepare
from ludus.research.task.discovery import load_task
from ludus.research.task.task import Task

__all__ = ["Trial", "try_to_prepare"]

SECONDS = 600


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of preparing a task's data.

    Attributes:
        read: Files that were read outside of the task's folder.
        missing: Which data is missing, if any.
        failed: Why it failed, if it did.
    """

    read: tuple[str, ...] = ()
    missing: str = ""
    failed: str = ""


def try_to_prepare(task: Task, seed: int, folder: Path) -> Trial:
    """Prepare a task into a folder, from a process that ends afterwards."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as report:
        # The program is this package's own; the rest are paths and a number.
        command = [sys.executable, "-Pm", __name__, str(task.file), str(seed), str(folder)]
        try:
            done = subprocess.run(  # noqa: S603
                [*command, report.name],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Trial(failed=f"{task.data_program} takes more than {SECONDS} s.")
        text = report.read()
    if not text:
        tail = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        why = f"exit code {done.returncode}" + (f", {tail[0]}" if tail else "")
        return Trial(failed=f"{task.data_program} ended its process: {why}.")
    found = json.loads(text)
    return Trial(tuple(found["read"]), found["missing"], found["failed"])


def _main(file: str, seed: str, folder: str, report: str) -> None:
    task = load_task(Path(file))
    opened: dict[str, None] = {}

    def watch(event: str, details: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(details[0], str) and details[1] in ("r", "rb"):
            opened[details[0]] = None

    sys.addaudithook(watch)
    found: dict[str, Any] = {"missing": "", "failed": ""}
    try:
        prepare(task, int(seed), Path(folder))
    except DataMissing as problem:
        found["missing"] = str(problem)
    except TaskError as problem:
        found["failed"] = str(problem)
    paths = [Path(path).absolute() for path in list(opened)]
    base = () if task.base is None else (task.base.folder,)
    own = (task.folder, *base, Path(folder))
    found["read"] = [
        str(path) for path in paths if path.is_file() and not any(map(path.is_relative_to, own))
    ]
    Path(report).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:])
