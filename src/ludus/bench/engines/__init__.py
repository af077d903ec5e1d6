"""Engines: where units are run."""

from __future__ import annotations

import os
from pathlib import Path

from ludus.bench.running.engine import Engine
from ludus.errors import BenchError

__all__ = ["ENGINES", "open_engine"]

ENGINES = ("processes", "serial")


def open_engine(name: str, *, workers: int | None = None, log: Path | None = None) -> Engine:
    """Return an engine, ``processes`` or ``serial``; by default with one worker per processor.

    Raises:
        BenchError: There is no such engine, or it does not take so many workers.
    """
    if workers is not None and workers < 1:
        raise BenchError(f"{workers} workers can do nothing; give at least 1.")
    if name == "serial":
        from ludus.bench.engines.serial import SerialEngine

        if workers not in (None, 1):
            raise BenchError("The serial engine has one worker; choose --engine processes.")
        return SerialEngine()
    if name == "processes":
        from ludus.bench.engines.processes import ProcessEngine

        return ProcessEngine(workers or len(os.sched_getaffinity(0)), log=log)
    raise BenchError(f"There is no engine {name!r}; choose one of {', '.join(ENGINES)}.")
