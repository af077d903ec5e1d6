"""Doing a unit: environment, recording, agent, result."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ludus.bench.blame import agents_doing
from ludus.bench.claim import claim_fault, claim_score, record_of, result_of
from ludus.bench.faults import AgentFault, InfrastructureFault, one_line
from ludus.bench.lending import LentEpisodes, LentVectorEpisodes
from ludus.bench.play import Tally, play
from ludus.bench.result import Result
from ludus.bench.unit import Unit
from ludus.record import Run, load_signing_key, read_run
from ludus.record.recorder import Recorder

__all__ = ["Job", "execute", "fault_result", "settle"]


@dataclass(frozen=True, slots=True)
class Job:
    """A unit to do, and where; other kinds of work do it in another way.

    Attributes:
        unit: What to do.
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
    def max_seconds(self) -> float | None:
        """What the agent has from its beginning on; more is its fault."""
        return self.unit.budget.max_seconds

    def execute(self, on_playing: Callable[[], None] = lambda: None) -> Result:
        """Do the unit; see :func:`execute`."""
        return execute(self, on_playing)

    def settle(self, reason: str, seconds: float) -> Result:
        """Close the record of a killed worker; see :func:`settle`."""
        return settle(self, reason, seconds)

    def give_up(self, reason: str, attempts: int) -> Result:
        """Remove the record that a killed worker left; see :func:`fault_result`."""
        _discard(self)
        return fault_result(self, reason, attempts)


def execute(job: Job, on_playing: Callable[[], None] = lambda: None) -> Result:
    """Do a unit and return its result: scored, or the agent's fault.

    Args:
        job: The unit and its place; what an earlier attempt left there is removed.
        on_playing: Called when the environment stands, and the agent's time begins.

    Raises:
        InfrastructureFault: Anything but the agent failed; no record is left.
    """
    started, tally = time.monotonic(), Tally()
    try:
        _discard(job)
        env = _build(job)
        # Taken before the agent gets the environment: it may do anything to that.
        recorder = env.recorder
        try:
            on_playing()
            _play(job, env, recorder, tally, started)
            claim = claim_score(job.unit, tally, time.monotonic() - started)
            recorder.add_result(claim)
            recorder.close("complete")
        except AgentFault as fault:
            recorder.close("interrupted")
            # Steps that the agent made behind the runner's back are in no tally.
            own = tally if recorder.rows == tally.rows else None
            return settle(job, str(fault), time.monotonic() - started, own)
        finally:
            _close(env, recorder)
        head = read_run(job.record_path).head
        return result_of(job.unit, job.run, head, claim, tally.returns, tally.curve)
    except InfrastructureFault:
        _discard(job)
        raise
    except Exception as problem:
        _discard(job)
        raise InfrastructureFault(one_line(problem)) from problem


def _play(job: Job, env: Any, recorder: Recorder, tally: Tally, started: float) -> None:
    """Play the unit; a failure of the environment that the agent caused is the agent's fault."""
    try:
        play(job.unit, env, tally)
    except AgentFault:
        raise
    except Exception as problem:
        # Playing again must end before the worker is killed for taking too long.
        if job.max_seconds is not None and 2 * (time.monotonic() - started) > job.max_seconds:
            raise
        what = agents_doing(job.unit, job.record_path, recorder, tally, problem)
        if what is None:
            raise
        raise AgentFault(what) from problem
    if recorder.is_closed:
        raise AgentFault("closed the environment")
    if recorder.rows != tally.rows:
        raise AgentFault("stepped the environment itself")


def _close(env: Any, recorder: Recorder) -> None:
    # What was played is recorded, or discarded; whatever closing raises changes nothing about it.
    with contextlib.suppress(Exception):
        recorder.close("interrupted")
    with contextlib.suppress(Exception, SystemExit):
        env.env.close()


def settle(job: Job, reason: str, seconds: float, tally: Tally | None = None) -> Result:
    """Close the record of a unit that the agent failed, and return the result that says so.

    Args:
        job: The unit.
        reason: What the agent did.
        seconds: That it took.
        tally: What was counted; ``None`` where only the record tells what was done, as where the
            worker was killed.

    Raises:
        Error: The record cannot be closed.
    """
    key = None if job.key is None else load_signing_key(job.key)
    with Run.resume(job.record_path, key=key) as run:
        if tally is None:
            tally = Tally(steps=run.rows * (job.unit.agent.num_envs or 1))
        claim = claim_fault(job.unit, tally, seconds, reason)
        run.append("note", claim)
    head = read_run(job.record_path).head
    return result_of(job.unit, job.run, head, claim, tally.returns, tally.curve)


def fault_result(job: Job, reason: str, attempts: int) -> Result:
    """Return the result of a unit that could not be done for no fault of the agent."""
    claim = claim_fault(job.unit, Tally(), 0.0, reason)
    made = result_of(job.unit, job.run, None, claim, (), None)
    extra = {"attempts": attempts}
    return replace(made, outcome="infrastructure_fault", record=None, extra=extra)


def _build(job: Job) -> Any:
    unit = job.unit
    key = None if job.key is None else load_signing_key(job.key)
    recorder = LentEpisodes if unit.agent.num_envs is None else LentVectorEpisodes
    env: Any = None
    try:
        env = unit.make_env()
        return recorder(env, job.record_path, key=key)
    except Exception as problem:
        if env is not None:
            with contextlib.suppress(Exception):
                env.close()
        what = "cannot be made" if env is None else "cannot be recorded"
        raise InfrastructureFault(f"{unit.env} {what}: {one_line(problem)}") from problem


def _discard(job: Job) -> None:
    # A link leads to what may be anybody's: it is removed, and nothing behind it.
    if job.record_path.is_symlink():
        job.record_path.unlink()
    shutil.rmtree(job.record_path, ignore_errors=True)
