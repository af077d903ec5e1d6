"""Runs one unit: environment, recording, agent, result."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ludus.bench.faults import FAILED_CALL, one_line
from ludus.bench.planning.plan import Unit
from ludus.bench.result import Result
from ludus.bench.running.play import UnitTally, play
from ludus.bench.verifying.claim import RECORDS, claim_fault, claim_score, record_of, result_of
from ludus.errors import (
    AgentFailed,
    Error,
    InfrastructureFailed,
    RecordError,
    SandboxError,
    WorkerError,
)
from ludus.record import RecordEpisodes, RecordVectorEpisodes, Run, load_signing_key, read_run
from ludus.record.episodes.recorder import Recorder
from ludus.record.replay.replay import Playback

__all__ = ["UnitJob", "agents_doing", "build", "execute", "fault_result", "make_place", "settle"]


@dataclass(frozen=True, slots=True)
class UnitJob:
    """A unit to run, and where; subclasses run other kinds of work.

    Attributes:
        unit: The unit.
        run: Name of the bench run.
        folder: Of the bench run.
        key: Path of the private key that signs records, if any.
    """

    ends_worker: ClassVar[bool] = False
    """Whether the process that did it does nothing else."""

    unit: Unit
    run: str
    folder: str
    key: str | None = None

    @property
    def record(self) -> str:
        """Path of the record, relative to the folder."""
        return record_of(self.unit)

    @property
    def record_path(self) -> Path:
        """Path of the record."""
        return Path(self.folder, self.record)

    @property
    def owner(self) -> str:
        """The agent whose code the job runs; empty if only Ludus's own."""
        return "" if self.unit.agent.is_built_in else self.unit.agent.name

    @property
    def max_seconds(self) -> float | None:
        """Time limit of the agent; exceeding it is the agent's fault."""
        return self.unit.budget.max_seconds

    def cost_so_far(self) -> float:
        """Return the money that the unit has spent before it has a result, if that is known."""
        return 0.0

    def execute(self, on_playing: Callable[[], None] = lambda: None) -> Result:
        """Run the unit; see :func:`execute`."""
        return execute(self, on_playing)

    def accepts(self, result: Result) -> bool:
        """Tell whether a result can be the worker's answer; the agent may have written one."""
        unit = self.unit
        said = (result.id, result.run, result.suite, result.suite_digest, result.agent, result.env)
        right = (unit.id, self.run, unit.suite, unit.suite_digest, unit.agent.name, unit.env_id)
        return (
            said == right
            and (result.seed, result.record) == (unit.seed, self.record)
            and json.loads(result.budget) == unit.budget.model_dump()
            and result.outcome != "infrastructure_fault"
        )

    def settle(self, reason: str, seconds: float) -> Result:
        """Close the record of a killed worker; see :func:`settle`."""
        return settle(self, reason, seconds)

    def give_up(self, reason: str, attempts: int, *, playing: bool) -> Result:
        """Return the result of a unit that failed in each of its attempts.

        If the agent was ``playing`` when it failed, or has played before, it is the agent's fault
        unless the unit also fails without the agent.
        """
        from ludus.bench.running.trial import fails_without_agent

        if playing:
            reason_without = fails_without_agent(self)
            if reason_without is None:
                with contextlib.suppress(Error, OSError):  # the disk may have filled up since
                    return self.settle(f"{reason}; the unit can be played without it", 0.0)
            elif reason_without not in reason:
                reason = f"{reason}; without the agent: {reason_without}"
        _discard(self)
        return fault_result(self, reason, attempts)


def execute(job: UnitJob, on_playing: Callable[[], None] = lambda: None) -> Result:
    """Run a unit and return its result: scored, or the agent's fault.

    What an earlier attempt left is removed. ``on_playing`` is called when the environment is made
    and the agent's time begins.

    Raises:
        InfrastructureFailed: Anything but the agent failed. If the agent was playing, the record
            stays until the unit is tried again or given up.
    """
    started, tally = time.monotonic(), UnitTally()
    playing = False
    try:
        _discard(job)
        env = build(job)
        # Taken before the agent gets the environment: it may do anything to that.
        recorder = env.recorder
        try:
            on_playing()
            playing = True
            _play(job, env, recorder, tally, started)
            claim = claim_score(job.unit, tally, time.monotonic() - started)
            recorder.add_result(claim)
            recorder.close("complete")
        except AgentFailed as fault:
            recorder.close("interrupted")
            # Steps that the agent made behind the runner's back are in no tally.
            own = tally if recorder.rows == tally.rows else None
            return settle(job, str(fault), time.monotonic() - started, own)
        finally:
            _close(env, recorder)
        head = read_run(job.record_path).head
        return result_of(job.unit, job.run, head, claim, tally.returns, tally.curve)
    except Exception as problem:  # whatever it is, it is reported or raised again
        if not playing:
            _discard(job)
        if isinstance(problem, InfrastructureFailed):
            raise
        raise InfrastructureFailed(one_line(problem)) from problem


def _play(job: UnitJob, env: Any, recorder: Recorder, tally: UnitTally, started: float) -> None:
    """Play the unit; a failure of the environment that the agent caused is the agent's fault."""
    try:
        play(job.unit, env, tally)
    except AgentFailed:
        raise
    except Exception as problem:  # the environment's own code
        # Playing again must end before the worker is killed for taking too long.
        if job.max_seconds is not None and 2 * (time.monotonic() - started) > job.max_seconds:
            raise
        what = agents_doing(job.unit, job.record_path, recorder, tally, problem)
        if what is None:
            _note_failed_call(env, recorder, tally)
            raise
        raise AgentFailed(what) from problem
    if recorder.is_closed:
        raise AgentFailed("closed the environment")
    if recorder.rows != tally.rows:
        raise AgentFailed("stepped the environment itself")


def _note_failed_call(env: Any, recorder: Recorder, tally: UnitTally) -> None:
    """Record the call in which the environment failed, so that it can be repeated."""
    if tally.calling is None:
        return
    _, arguments, named = tally.calling
    with contextlib.suppress(Exception):  # a disk may be full, an environment in any state
        call = {"seed": named.get("seed")}
        if arguments:
            call = {"action": env.action_space.to_jsonable([arguments[0]])}
        recorder.flush()
        recorder.run.append("note", {FAILED_CALL: call})


def _close(env: Any, recorder: Recorder) -> None:
    # What was played is recorded, or discarded; whatever closing raises changes nothing about it.
    with contextlib.suppress(Exception):
        recorder.close("interrupted")
    with contextlib.suppress(Exception):
        env.abandon()
    with contextlib.suppress(Exception, SystemExit):
        env.env.close()


def settle(job: UnitJob, reason: str, seconds: float, tally: UnitTally | None = None) -> Result:
    """Close the record of a unit that the agent failed, and return the result that says so.

    Without a ``tally``, as after the worker was killed, steps are counted from the record.

    Raises:
        Error: The record cannot be closed.
    """
    key = None if job.key is None else load_signing_key(job.key)
    with _reopened(job, key) as run:
        if tally is None:
            tally = UnitTally(steps=run.rows * (job.unit.agent.num_envs or 1))
        claim = claim_fault(job.unit, tally, seconds, reason)
        run.append("note", claim)
    head = read_run(job.record_path).head
    return result_of(job.unit, job.run, head, claim, tally.returns, tally.curve)


def _reopened(job: UnitJob, key: Any) -> Run:
    """Return the run of a unit to be completed; an empty one if the agent damaged it."""
    try:
        return Run.resume(job.record_path, key=key)
    except (Error, OSError):
        _discard(job)
        env = build(job)
        env.recorder.close("interrupted")
        env.close()
        return Run.resume(job.record_path, key=key)


def fault_result(job: UnitJob, reason: str, attempts: int) -> Result:
    """Return the result of a unit that failed for no fault of the agent."""
    claim = claim_fault(job.unit, UnitTally(), 0.0, reason)
    made = result_of(job.unit, job.run, None, claim, (), None)
    extra = {"attempts": attempts}
    return replace(made, outcome="infrastructure_fault", record=None, extra=extra)


class _Lent:
    """A recording that the agent gets: closing it leaves it interrupted, so the runner can tell."""

    def close(self, **kwargs: Any) -> None:
        self._end("interrupted", **kwargs)  # type: ignore[attr-defined]


class _LentEpisodes(_Lent, RecordEpisodes[Any, Any]):
    pass


class _LentVectorEpisodes(_Lent, RecordVectorEpisodes[Any, Any]):
    pass


def build(job: UnitJob) -> Any:
    """Return the environment of a unit, recorded.

    Raises:
        InfrastructureFailed: It cannot be made or recorded.
    """
    unit = job.unit
    key = None if job.key is None else load_signing_key(job.key)
    recorder = _LentEpisodes if unit.agent.num_envs is None else _LentVectorEpisodes
    env: Any = None
    try:
        env = unit.make_env()
        return recorder(env, job.record_path, key=key)
    except Exception as problem:  # the environment's own constructor
        if env is not None:
            with contextlib.suppress(Exception):  # the environment's own code
                env.close()
        what = "cannot be made" if env is None else "cannot be recorded"
        raise InfrastructureFailed(f"{unit.env} {what}: {one_line(problem)}") from problem


def make_place(folder: str) -> Path:
    """Return the folder of a run's records, created again if an agent has replaced it."""
    records = Path(folder, RECORDS)
    if records.is_symlink() or not records.is_dir():
        records.unlink(missing_ok=True)
        records.mkdir(parents=True)
    elif not os.access(records, os.R_OK | os.W_OK | os.X_OK):
        with contextlib.suppress(OSError):  # it is another user's, or the disk cannot be written
            records.chmod(0o755)
    return records


def _discard(job: UnitJob) -> None:
    with contextlib.suppress(OSError):  # what is wrong shows when the record is made
        make_place(job.folder)
    # A link leads to what may be anybody's: it is removed, and nothing behind it.
    if job.record_path.is_symlink() or job.record_path.is_file():
        job.record_path.unlink()
    shutil.rmtree(job.record_path, ignore_errors=True)


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
