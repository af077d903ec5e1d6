"""Runs the units of a plan that are not finished, and writes each result as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any

from ludus.bench.agents.spec import AgentSpec, parse_agent
from ludus.bench.engines import Done, Engine, open_engine
from ludus.bench.faults import one_line
from ludus.bench.outcome import with_counted
from ludus.bench.planning.budget import RunLimits, Spent
from ludus.bench.planning.plan import BenchPlan, Unit, make_plan
from ludus.bench.planning.suite import Suite, load_suite
from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob
from ludus.bench.running.folder import AgentRow, BenchFolder
from ludus.bench.running.progress import NoProgress, Progress
from ludus.errors import BenchError, StoreError
from ludus.record import load_signing_key

__all__ = ["BenchRun", "RunSettings", "resume_run", "run_plan", "run_suite"]

AGENT_FAULTS, INFRASTRUCTURE_FAULTS, EXHAUSTED, INTERRUPTED = 1, 3, 4, 130


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How units are run; nothing here changes a score.

    Attributes:
        engine: ``processes`` or ``serial``.
        workers: How many at a time; by default one per processor.
        retries: How often to retry after an infrastructure failure.
        backoff: Seconds before the first retry; doubled for each further one.
        key: Path of the private key that signs the records.
        store: A store for the results: a path or URL, see :func:`ludus.bench.store.open_store`.
        limits: What the run may spend, instead of what the suite says.
        progress: Is told what happens.
        job: Makes the job of a unit from the unit, the run's name, its folder and the key.
    """

    engine: str | Engine = "processes"
    workers: int | None = None
    retries: int = 2
    backoff: float = 1.0
    key: str | Path | None = None
    store: str | Path | None = None
    limits: RunLimits | None = None
    progress: Progress = field(default_factory=NoProgress)
    job: Callable[[Unit, str, str, str | None], UnitJob] = UnitJob


@dataclass(frozen=True, slots=True)
class BenchRun:
    """The outcome of a run.

    Attributes:
        name: Of the run.
        folder: Of the run.
        suite: The suite.
        results: Of all units that were finished or given up, in the order of the plan.
        planned: How many units there are.
        missing: Environments that were left out, in words.
        open_units: Units without a result, in words.
        exhausted: Which limit ended the run early.
        interrupted: Whether the user did.
        store_problem: Why results did not reach the store; they are in the folder.
    """

    name: str
    folder: Path
    suite: Suite
    results: tuple[Result, ...]
    planned: int
    missing: tuple[str, ...] = ()
    open_units: tuple[str, ...] = ()
    exhausted: str | None = None
    interrupted: bool = False
    store_problem: str | None = None

    def count(self, outcome: str) -> int:
        """Return how many results have an outcome."""
        return sum(result.outcome == outcome for result in self.results)

    @property
    def unfinished(self) -> int:
        """Units without a result."""
        return self.planned - len(self.results)

    @property
    def exit_code(self) -> int:
        """0 if all is scored; else the exit code of the command, see ``ludus bench run --help``."""
        if self.interrupted:
            return INTERRUPTED
        if self.exhausted is not None:
            return EXHAUSTED
        if self.count("infrastructure_fault") or self.store_problem is not None:
            return INFRASTRUCTURE_FAULTS
        return AGENT_FAULTS if self.count("agent_fault") else 0


def run_suite(
    suite: Suite | str | Path,
    agents: Iterable[Any] | None = None,
    *,
    out: str | Path,
    name: str | None = None,
    skip_missing: bool = False,
    trust: bool = False,
    settings: RunSettings | None = None,
) -> BenchRun:
    """Run a suite into a new folder.

    Args:
        suite: A suite, its name, or the path of its file.
        agents: The agents; by default those that the suite names.
        out: The folder.
        name: Of the run; by default made from suite and time.
        skip_missing: Leave out environments that are not registered here.
        trust: Whether agents may be loaded whose files are unpickled.
        settings: How units are run.

    Raises:
        BenchError: The run cannot start; the message says what to do.
        RecordError: The key cannot be read.
        StoreError: The store cannot be opened.
    """
    chosen = suite if isinstance(suite, Suite) else load_suite(suite)
    work = make_plan(chosen, agents, skip_missing=skip_missing, trust=trust)
    _check_settings(settings or RunSettings())
    folder = BenchFolder.create(out, work, name=name)
    return run_plan(folder, work, settings)


def resume_run(
    path: str | Path,
    agents: Iterable[Any] | None = None,
    *,
    trust: bool = False,
    settings: RunSettings | None = None,
) -> BenchRun:
    """Resume a run; finished units are not repeated.

    Args:
        path: Its folder.
        agents: Needed only where agents are objects or functions: the same as before.
        trust: Whether agents may be loaded whose files are unpickled.
        settings: How units are run.

    Raises:
        BenchError: There is no run, another process is running it, or the agents are not the same.
    """
    folder = BenchFolder.open(path)
    given = list(agents) if agents is not None else [_known(row, trust) for row in folder.agents]
    work = make_plan(folder.suite, given, skip_missing=bool(folder.missing), trust=trust)
    if set(folder.unit_ids) != {unit.id for unit in work.units}:
        raise BenchError(
            f"The work of {path} is not what it was: {_difference(folder, work)}. Results of "
            "different work are not mixed; start another run."
        )
    _check_settings(settings or RunSettings())
    return run_plan(folder, work, settings)


def run_plan(folder: BenchFolder, work: BenchPlan, settings: RunSettings | None = None) -> BenchRun:
    """Run the units of a plan that are not finished in a folder.

    Raises:
        BenchError: Another process is running them, or nothing can be written.
    """
    return _Runner(folder, work, settings or RunSettings()).run()


def _check_settings(settings: RunSettings) -> None:
    """Raise for settings that no unit can be run with, before a folder is made."""
    if isinstance(settings.engine, str):
        open_engine(settings.engine, workers=settings.workers).close()
    if settings.key is not None:
        load_signing_key(settings.key)
    if settings.store is not None:
        from ludus.bench.store import open_store

        open_store(settings.store).close()


def _known(row: AgentRow, trust: bool) -> AgentSpec:
    if not row.by_name:
        raise BenchError(
            f"{row.name} was an object or function ({row.use}); pass it again: "
            "resume_run(path, agents=[...])."
        )
    return parse_agent(row.model_dump(exclude={"digest", "by_name"}), trust=trust)


def _difference(folder: BenchFolder, work: BenchPlan) -> str:
    changed = [spec.name for spec in work.agents if AgentRow.of(spec) not in folder.agents]
    if changed:
        return f"the code or the options of {', '.join(changed)} changed"
    return "other environments are registered here"


class _Runner:
    """One pass over the units of a folder that are not finished."""

    def __init__(self, folder: BenchFolder, work: BenchPlan, settings: RunSettings) -> None:
        self._folder, self._plan, self._settings = folder, work, settings
        self._limits = settings.limits or folder.suite.limits
        self._results: dict[str, Result] = {}
        self._spent = Spent()
        self._attempts: dict[str, int] = {}
        # Agents whose code has run: they may have damaged the folder for later units.
        self._seen: set[str] = set()
        self._queue: list[tuple[float, int, Unit]] = []
        self._order = count()
        self._store: Any = None
        self._store_problem: str | None = None

    def run(self) -> BenchRun:
        exhausted, interrupted = None, False
        with self._folder.locked(), self._settings.progress:
            self._begin()
            try:
                if self._queue:
                    with self._open_engine() as engine:
                        exhausted = self._work(engine)
            except KeyboardInterrupt:
                interrupted = True
                self._recount()
            finally:
                if self._store is not None:
                    self._store.close()
        missing = tuple(f"{row.env}: {row.reason}" for row in self._folder.missing)
        ordered = (self._results.get(unit.id) for unit in self._plan.units)
        return BenchRun(
            name=self._folder.name,
            folder=self._folder.path,
            suite=self._folder.suite,
            results=tuple(result for result in ordered if result is not None),
            planned=len(self._plan.units),
            missing=missing,
            open_units=tuple(str(u) for u in self._plan.units if u.id not in self._results),
            exhausted=exhausted,
            interrupted=interrupted,
            store_problem=self._store_problem,
        )

    def _begin(self) -> None:
        """Read the finished results; infrastructure faults are tried again."""
        for unit in self._plan.units:
            result = self._folder.result(unit.id)
            if result is None or result.outcome == "infrastructure_fault":
                heappush(self._queue, (0.0, next(self._order), unit))
                continue
            self._results[unit.id] = result
            self._spent.steps += result.steps
            self._spent.cost += result.cost
        if self._settings.store is not None:
            from ludus.bench.store import open_store

            self._store = open_store(self._settings.store)
            self._store.add_suite(self._folder.suite)
            self._store.add(self._results.values())
        self._settings.progress.begin(len(self._plan.units), len(self._results))

    def _recount(self) -> None:
        """Count a result that was written just before the interrupt, but not counted yet."""
        for unit in self._plan.units:
            if unit.id not in self._results:
                result = self._folder.result(unit.id)
                if result is not None and result.outcome != "infrastructure_fault":
                    self._results[unit.id] = result

    def _open_engine(self) -> Engine:
        chosen = self._settings.engine
        if not isinstance(chosen, str):
            return chosen
        log = self._folder.path / "workers.log"
        return open_engine(chosen, workers=self._settings.workers, log=log)

    def _work(self, engine: Engine) -> str | None:
        """Run what is queued; return which limit ended it early, if one did."""
        started, busy = time.monotonic(), 0
        while self._queue or busy:
            self._spent.seconds = time.monotonic() - started
            exhausted = self._limits.exceeded(replace(self._spent, cost=self._cost()))
            # Of what is under way, only the clock makes waiting senseless.
            if exhausted and (not busy or exhausted.startswith("max_seconds")):
                return exhausted
            while not exhausted and busy < engine.slots and self._is_due():
                engine.submit(self._job(heappop(self._queue)[2]))
                busy += 1
            if not busy:
                time.sleep(min(0.05, max(0.0, self._queue[0][0] - time.monotonic())))
                continue
            done = engine.wait(self._patience(started))
            if done is not None:
                busy -= 1
                self._take(done)
        return None

    def _cost(self) -> float:
        """Return the money for all units, also for those that have no result yet, or no score."""
        if self._limits.max_cost is None:
            return self._spent.cost
        scored = {one.id for one in self._results.values() if one.outcome != "infrastructure_fault"}
        begun = (unit for unit in self._plan.units if unit.id not in scored)
        return self._spent.cost + sum(self._job(unit).cost_so_far() for unit in begun)

    def _is_due(self) -> bool:
        return bool(self._queue) and self._queue[0][0] <= time.monotonic()

    def _patience(self, started: float) -> float:
        """Return how long to wait for a job: until a retry is due, or the time is up."""
        moments = [self._queue[0][0]] if self._queue and not self._is_due() else []
        if self._limits.max_seconds is not None:
            moments.append(started + self._limits.max_seconds)
        return max(0.0, min([moment - time.monotonic() for moment in moments], default=60.0))

    def _job(self, unit: Unit) -> UnitJob:
        key = self._settings.key
        where = (self._folder.name, str(self._folder.path))
        return self._settings.job(unit, *where, None if key is None else str(key))

    def _take(self, done: Done) -> None:
        unit, fault = done.job.unit, one_line(done.fault or "no reason is known")
        if done.job.owner and (done.playing or done.result is not None):
            self._seen.add(done.job.owner)
        if done.result is not None:
            try:
                return self._keep(done.result)
            except OSError as problem:
                fault = f"its result cannot be written: {one_line(problem)}"
        tried = self._attempts[unit.id] = self._attempts.get(unit.id, 0) + 1
        if tried <= self._settings.retries:
            pause = self._settings.backoff * 2.0 ** (tried - 1)
            self._settings.progress.note(f"{unit}: {fault}; trying again in {pause:g} s")
            return heappush(self._queue, (time.monotonic() + pause, next(self._order), unit))
        try:
            playing = done.playing or done.job.owner in self._seen
            return self._keep(done.job.give_up(fault, tried, playing=playing))
        except OSError as problem:
            raise BenchError(
                f"Nothing can be written to {self._folder.path}: {problem}. What is finished is "
                f"kept; when there is room: ludus bench resume {self._folder.path}"
            ) from problem

    def _keep(self, done: Result) -> None:
        suite = self._folder.suite
        floor, lower = suite.floors.get(done.env), done.env in suite.lower
        result = with_counted(done, floor=floor, lower=lower)
        self._folder.write(result)
        self._results[result.id] = result
        self._spent.steps += result.steps
        self._spent.cost += result.cost
        self._settings.progress.finished(result)
        if self._store is None or self._store_problem is not None:
            return
        try:
            self._store.add([result])
        except StoreError as problem:
            # The folder has it: going on and saying so loses nothing.
            self._store_problem = str(problem)
            self._settings.progress.note(f"No more results reach the store: {problem}")
