"""From results to scores: what counts, what does not, and the denominators that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from ludus.bench.outcome import counted_score, fault_floor, without_copies
from ludus.bench.result import Result
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.scores import FloatArray, Scores, joined

if TYPE_CHECKING:
    from ludus.bench.statistics.aup import AupTable

__all__ = ["AgentScores", "Counts", "FaultPolicy", "TaskScores", "best_entries", "gather"]

FaultPolicy = Literal["worst", "omit"]
"""An agent's fault counts as the floor of its task, or is left out of the figures."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The denominator of a figure.

    Attributes:
        results: units of work that were tried.
        scored: of them, those with a score.
        agent_faults: those that failed by the agent's fault.
        infrastructure_faults: those that failed for no fault of the agent; they never count.
        used: runs in the figure: the scored, and the agent's faults if they count as the floor.
    """

    results: int = 0
    scored: int = 0
    agent_faults: int = 0
    infrastructure_faults: int = 0
    used: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __str__(self) -> str:
        counted = self.used - self.scored
        how = f", {counted} of them counted as the floor" if self.agent_faults else ""
        return (
            f"n = {self.used} of {self.results} results: {self.scored} scored, "
            f"{_plural(self.agent_faults, 'agent fault')}{how}, "
            f"{_plural(self.infrastructure_faults, 'infrastructure fault')} (never counted)"
        )


@dataclass(frozen=True, slots=True, eq=False)
class TaskScores:
    """Runs of one agent on one task, as they were scored.

    Attributes:
        env: id of the environment.
        runs: scores that count, faults that count as the floor included; may be empty.
        counts: the denominator.
        reference: the task's scale, if known.
        higher_is_better: whether a higher score is.
        floor: what the agent's faults count as, if that is known.
    """

    env: str
    runs: FloatArray
    counts: Counts
    reference: Reference | None
    higher_is_better: bool = True
    floor: float | None = None

    @property
    def upward(self) -> FloatArray:
        """The runs turned so that higher is better."""
        return self.runs if self.higher_is_better else -self.runs

    def as_scores(self, values: FloatArray | None = None) -> Scores:
        """Return the runs, or other values of the same runs, as the figures take them.

        Raises:
            ValueError: if there are none.
        """
        return joined({self.env: (self.runs if values is None else values, self.counts.scored)})


@dataclass(frozen=True, slots=True, eq=False)
class AgentScores:
    """Everything of one agent that figures are made of.

    Attributes:
        agent: its name.
        tasks: by environment id, sorted.
        caveats: what has to be said beside any figure.
    """

    agent: str
    tasks: Mapping[str, TaskScores]
    caveats: tuple[str, ...]

    @property
    def counts(self) -> Counts:
        """Denominator over all tasks."""
        return sum((task.counts for task in self.tasks.values()), Counts())

    @property
    def with_runs(self) -> tuple[str, ...]:
        """Tasks that have at least one run that counts."""
        return tuple(env for env, task in self.tasks.items() if task.runs.size)

    def upward(self) -> Scores:
        """Scores of all tasks with runs, each on its own scale, turned so that higher is better.

        Raises:
            ValueError: if no task has a run.
        """
        tasks = (self.tasks[env] for env in self.with_runs)
        return joined({task.env: (task.upward, task.counts.scored) for task in tasks})

    def normalised(self) -> Scores | None:
        """Scores on the scales of the references; ``None`` if a task with runs has none."""
        found = {}
        for env in self.with_runs:
            task = self.tasks[env]
            if task.reference is None:
                return None
            found[env] = task.reference.scale(task.runs), task.counts.scored
        return joined(found) if found else None


def gather(
    results: Iterable[Result],
    *,
    references: Mapping[str, Reference] | None = None,
    lower: Collection[str] = (),
    floors: Mapping[str, float] | None = None,
    faults: FaultPolicy = "worst",
) -> dict[str, AgentScores]:
    """Sort results by agent and task, and decide which count.

    Infrastructure faults never count and are always stated. By default an agent's fault counts as
    the floor of its task, see :func:`~ludus.bench.outcome.fault_floor`, and no score counts as
    less than a floor that is declared. A result that is listed twice counts once.

    Args:
        results: of any number of agents.
        references: scale of each task, by environment id, with the floor if one is declared.
        lower: tasks where lower is better; needed for those without a reference only.
        floors: floors of tasks without a reference.
        faults: ``"worst"``, or ``"omit"`` to leave agents' faults out.

    Raises:
        ValueError: if ``faults`` is neither, or ``lower`` contradicts a reference.
    """
    if faults not in get_args(FaultPolicy):
        raise ValueError(f"Agents' faults count as 'worst' or 'omit'; got {faults!r}.")
    scales = references or {}
    less = _lower(lower, scales)
    declared = {env: ref.floor for env, ref in scales.items()}
    declared = {**(floors or {}), **{env: one for env, one in declared.items() if one is not None}}
    given = list(results)
    groups: dict[str, dict[str, list[Result]]] = {}
    seen: dict[str, list[float]] = {}
    for result in without_copies(given):
        groups.setdefault(result.agent, {}).setdefault(result.env, []).append(result)
        if result.score is not None:
            seen.setdefault(result.env, []).append(result.score)
    gathered = {}
    for agent in sorted(groups):
        tasks = {}
        for env, found in sorted(groups[agent].items()):
            scale, is_lower = scales.get(env), env in less
            floor = fault_floor(
                declared=declared.get(env),
                zero=None if scale is None else scale.worst,
                own=[result.score for result in found if result.score is not None],
                seen=seen.get(env, ()),
                lower=is_lower,
            )
            tasks[env] = _task_scores(env, found, scale, floor, not is_lower, faults)
        caveats = _caveats(agent, tasks, groups[agent], faults, declared)
        copies = sum(one.agent == agent for one in given) - sum(map(len, groups[agent].values()))
        if copies:
            caveats.append(f"{_plural(copies, 'copy', 'copies')} of results of {agent} left out.")
        gathered[agent] = AgentScores(agent, tasks, tuple(caveats))
    return gathered


def best_entries(
    results: Iterable[Result],
    *,
    entry: Literal["attempt", "submission"],
    lower: Iterable[str] = (),
) -> tuple[AupTable, tuple[str, ...]]:
    """Take the best of each agent's runs on each task, the table that AUP is made of.

    Args:
        results: of any number of agents; infrastructure faults are passed over, an agent's fault
            is a run without an entry.
        entry: a run's best attempt, or what it submitted in the end.
        lower: tasks whose metric is better the lower it is.

    Returns:
        The table, and caveats: an entry is the best of its runs and not their mean, and the best
        of more runs is better.
    """
    table: dict[str, dict[str, float | None]] = {}
    tried: Counter[tuple[str, str]] = Counter()
    less = frozenset(lower)
    for result in without_copies(results):
        if result.outcome == "infrastructure_fault":
            continue
        tried[result.agent, result.env] += 1
        row = table.setdefault(result.agent, {})
        score = result.best_score if entry == "attempt" else result.score
        known = [one for one in (row.get(result.env), score) if one is not None]
        pick = min if result.env in less else max
        row[result.env] = pick(known, default=None)
    few, many = min(tried.values(), default=1), max(tried.values(), default=1)
    if few == many == 1:
        return table, ()
    if few == many:
        return table, (f"Each entry is the best of {many} runs, not their mean.",)
    told = f"The best is taken of {few} to {many} runs, and more runs have a better best."
    return table, (f"Each entry is the best of its runs, not their mean. {told}",)


def _lower(lower: Collection[str], references: Mapping[str, Reference]) -> frozenset[str]:
    said = {lower} if isinstance(lower, str) else set(lower)
    torn = sorted(env for env in said & references.keys() if references[env].higher_is_better)
    if torn:
        raise ValueError(
            f"Lower is said to be better on {', '.join(torn)}, and the reference says higher is; "
            f"set higher_is_better=False there."
        )
    return frozenset(said | {e for e, ref in references.items() if not ref.higher_is_better})


def _caveats(
    agent: str,
    tasks: Mapping[str, TaskScores],
    groups: Mapping[str, list[Result]],
    faults: FaultPolicy,
    declared: Collection[str],
) -> list[str]:
    caveats = []
    empty = [env for env, task in tasks.items() if not task.runs.size]
    if empty:
        caveats.append(f"{agent} has no run that counts on {', '.join(empty)}.")
    failed = sum(task.counts.agent_faults for task in tasks.values())
    if failed and faults == "omit":
        caveats.append(f"{_plural(failed, 'agent fault')} of {agent} left out of the figures.")
    unscaled = [
        env
        for env, task in tasks.items()
        if task.counts.used > task.counts.scored and not task.reference and env not in declared
    ]
    if unscaled:
        caveats.append(
            f"No floor and no reference minimum are known for {', '.join(unscaled)}: faults of "
            f"{agent} count as the worst score that was seen."
        )
    ids = Counter(result.id for group in groups.values() for result in group)
    repeated = sum(count - 1 for count in ids.values())
    if repeated:
        caveats.append(
            f"{_plural(repeated, 'result')} of {agent} repeat work that another run did; each "
            f"counts as a run of its own."
        )
    return caveats


def _task_scores(
    env: str,
    results: list[Result],
    reference: Reference | None,
    floor: float | None,
    higher_is_better: bool,
    faults: FaultPolicy,
) -> TaskScores:
    outcomes = Counter(result.outcome for result in results)
    counted = [
        counted_score(result.outcome, result.score, floor=floor, lower=not higher_is_better)
        for result in results
        if faults == "worst" or result.outcome == "scored"
    ]
    runs = np.asarray([one for one in counted if one is not None], dtype=np.float64)
    counts = Counts(
        results=len(results),
        scored=outcomes["scored"],
        agent_faults=outcomes["agent_fault"],
        infrastructure_faults=outcomes["infrastructure_fault"],
        used=runs.size,
    )
    return TaskScores(env, runs, counts, reference, higher_is_better, floor)


def _plural(count: int, noun: str, many: str | None = None) -> str:
    return f"{count} {noun if count == 1 else many or noun + 's'}"
