"""Grades a recorded episode whose client has gone, in a process of its own.

A client that starts a server kills it seconds after it has closed the connection, which may be
before the work is graded. The record has all that grading needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from ludus.errors import BadArguments, BenchError, ServeError
from ludus.serve.recorded import RecordedResearch
from ludus.serve.schemas import plain
from ludus.serve.served import Served

__all__ = ["finish", "start_finishing"]

_WAIT_SECONDS = 120.0
_PAUSE = 0.1


def start_finishing(served: Served, episode_id: str) -> None:
    """Start a process that ends and grades an episode; this one need not live on.

    Args:
        served: A research task with a folder for records.
        episode_id: Of the episode, which this process leaves.

    Raises:
        ServeError: Its episodes are not recorded.
    """
    if served.records is None:
        raise ServeError(f"Episodes of {served.name} are not recorded.")
    given = {
        "task": served.spec.kwargs["task"],
        "folder": str(served.records.absolute()),
        "episode_id": episode_id,
        "options": plain(dict(served.kwargs)),
    }
    subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-m", "ludus.serve.finishing", json.dumps(given)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def finish(task: str, folder: str | Path, episode_id: str, options: dict[str, Any]) -> None:
    """End and grade a recorded episode once no other process plays it, unless it is over.

    Raises:
        BenchError: Another process plays it all the time.
        Error: The episode cannot be continued.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    with closing(RecordedResearch(task, folder, **options)) as env:
        while True:
            try:
                env.reset(options={"episode_id": episode_id})
            except BadArguments:
                return  # it is over
            except BenchError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
            else:
                env.finish()
                return


if __name__ == "__main__":
    finish(**json.loads(sys.argv[1]))
