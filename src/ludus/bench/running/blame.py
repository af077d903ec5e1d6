"""Whose fault it is that an environment failed while an agent was playing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ludus.bench.planning.unit import Unit
from ludus.bench.running.play import UnitTally
from ludus.errors import InfrastructureFailed, RecordError, SandboxError, WorkerError
from ludus.record import read_run
from ludus.record.episodes.recorder import Recorder
from ludus.record.replay.playback import Playback

__all__ = ["agents_doing"]

_MACHINE = (MemoryError, OSError, RecordError, SandboxError, WorkerError)
"""What a machine without memory or disk, or a process that died, makes an environment raise."""


def agents_doing(
    unit: Unit, record: Path, recorder: Recorder, tally: UnitTally, problem: BaseException
) -> str | None:
    """Return what the agent did to the environment, if that is why it failed; else ``None``.

    A deterministic environment that the agent broke fails where a new one, after the same recorded
    actions, does not. Without evidence the agent is not blamed.
    """
    if recorder.is_closed:
        return "closed the environment"
    if isinstance(problem, InfrastructureFailed) and problem.__cause__ is None:
        return None  # the runner's own finding, of which a new environment knows nothing
    cause = problem.__cause__ or problem
    if isinstance(cause, _MACHINE) and not _passes_through(cause, tally.modules):
        return None
    if recorder.rows > tally.rows:
        return "stepped the environment itself"
    try:
        recorder.flush()
        works = _works_afresh(unit, record, tally.calling)
    except Exception:  # whatever it is, it is no evidence
        return None
    return "broke the environment, which works when it is played again" if works else None


def _passes_through(problem: BaseException, modules: frozenset[str]) -> bool:
    """Tell whether code of some modules was being executed when an exception was raised."""
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") in modules:
            return True
        trace = trace.tb_next
    return False


def _works_afresh(unit: Unit, record: Path, calling: tuple[str, Any, Any] | None) -> bool:
    if calling is None:
        return False
    name, arguments, named = calling
    with unit.make_env() as env:
        if any(mismatch is not None for mismatch in Playback(read_run(record), env).run()):
            return False
        getattr(env, name)(*arguments, **named)
    return True
