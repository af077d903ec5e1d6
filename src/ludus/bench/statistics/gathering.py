"""From results to scores: what counts, what does not, and the denominators that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from ludus.bench.result import Result
from ludus.bench.statistics.aup import AupTable
from ludus.bench.statistics.normalise import Reference, normalise_tasks
from ludus.bench.statistics.scores import FloatArray, Scores, as_scores

__all__ = ["AgentScores", "Counts", "FaultPolicy", "TaskScores", "best_entries", "gather"]

FaultPolicy = Literal["worst", "omit"]
"""An agent's fault counts as the worst score of its task, or is left out of the figures."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The denominator of a figure.

    Attributes:
        results: units of work that were tried.
        scored: of them, those with a score.
        agent_faults: those that failed by the agent's fault.
        infrastructure_faults: those that failed by nobody's merit; they never count.
        used: runs in the figure: the scored, and the agent's faults if they count as the worst.
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
        how = f", {counted} of them counted as the worst score" if self.agent_faults else ""
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
        runs: scores that count, faults that count as the worst included; may be empty.
        counts: the denominator.
        reference: the task's scale, if known.
        higher_is_better: whether a higher score is.
    """

    env: str
    runs: FloatArray
    counts: Counts
    reference: Reference | None
    higher_is_better: bool = True

    @property
    def upward(self) -> FloatArray:
        """The runs turned so that higher is better."""
        return self.runs if self.higher_is_better else -self.runs


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
        return as_scores({env: self.tasks[env].upward for env in self.with_runs})

    def normalised(self) -> Scores | None:
        """Scores on the scales of the references; ``None`` if a task with runs has none."""
        runs = {env: self.tasks[env].runs for env in self.with_runs}
        references = {env: ref for env in runs if (ref := self.tasks[env].reference)}
        return normalise_tasks(runs, references) if runs and len(references) == len(runs) else None


def gather(
    results: Iterable[Result],
    *,
    references: Mapping[str, Reference] | None = None,
    lower: Collection[str] = (),
    faults: FaultPolicy = "worst",
) -> dict[str, AgentScores]:
    """Sort results by agent and task, and decide which count.

    Infrastructure faults never count and are always stated. By default an agent's fault counts as
    the worst score of its task: the reference's, or the worst that any of the agents got, if that
    is worse or no reference is known. So failing never pays.

    Args:
        results: of any number of agents.
        references: scale of each task, by environment id.
        lower: tasks where lower is better; needed for those without a reference only.
        faults: ``"worst"``, or ``"omit"`` to leave agents' faults out.

    Raises:
        ValueError: if ``faults`` is neither, or ``lower`` contradicts a reference.
    """
    if faults not in get_args(FaultPolicy):
        raise ValueError(f"Agents' faults count as 'worst' or 'omit'; got {faults!r}.")
    scales = references or {}
    less = _lower(lower, scales)
    groups: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        groups.setdefault(result.agent, {}).setdefault(result.env, []).append(result)
    worst = _worst(groups, scales, less) if faults == "worst" else {}
    gathered = {}
    for agent in sorted(groups):
        tasks = {
            env: _task_scores(env, found, scales.get(env), worst.get(env), env not in less)
            for env, found in sorted(groups[agent].items())
        }
        caveats = _caveats(agent, tasks, groups[agent], faults)
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
        The table, and caveats: the best of more runs is better, so unequal numbers are told.
    """
    table: dict[str, dict[str, float | None]] = {}
    tried: Counter[tuple[str, str]] = Counter()
    less = frozenset(lower)
    for result in results:
        if result.outcome == "infrastructure_fault":
            continue
        tried[result.agent, result.env] += 1
        row = table.setdefault(result.agent, {})
        score = result.best_score if entry == "attempt" else result.score
        known = [one for one in (row.get(result.env), score) if one is not None]
        pick = min if result.env in less else max
        row[result.env] = pick(known, default=None)
    if len(set(tried.values())) <= 1:
        return table, ()
    few, many = min(tried.values()), max(tried.values())
    return table, (f"The best is taken of {few} to {many} runs, and more runs have a better best.",)


def _lower(lower: Collection[str], references: Mapping[str, Reference]) -> frozenset[str]:
    said = {lower} if isinstance(lower, str) else set(lower)
    torn = sorted(env for env in said & references.keys() if references[env].higher_is_better)
    if torn:
        raise ValueError(
            f"Lower is said to be better on {', '.join(torn)}, and the reference says higher is; "
            f"set higher_is_better=False there."
        )
    return frozenset(said | {e for e, ref in references.items() if not ref.higher_is_better})


def _worst(
    groups: Mapping[str, Mapping[str, list[Result]]],
    references: Mapping[str, Reference],
    lower: Collection[str],
) -> dict[str, float]:
    seen: dict[str, list[float]] = {env: [ref.worst] for env, ref in references.items()}
    for tasks in groups.values():
        for env, results in tasks.items():
            scores = [result.score for result in results if result.score is not None]
            seen.setdefault(env, []).extend(scores)
    return {env: (max if env in lower else min)(found) for env, found in seen.items() if found}


def _caveats(
    agent: str,
    tasks: Mapping[str, TaskScores],
    groups: Mapping[str, list[Result]],
    faults: FaultPolicy,
) -> list[str]:
    caveats = []
    empty = [env for env, task in tasks.items() if not task.runs.size]
    if empty:
        caveats.append(f"{agent} has no run that counts on {', '.join(empty)}.")
    failed = sum(task.counts.agent_faults for task in tasks.values())
    if failed and faults == "omit":
        caveats.append(f"{_plural(failed, 'agent fault')} of {agent} left out of the figures.")
    unscaled = [e for e, t in tasks.items() if t.counts.used > t.counts.scored and not t.reference]
    if unscaled:
        caveats.append(
            f"No reference minimum is known for {', '.join(unscaled)}: faults of {agent} count as "
            f"the worst score that was seen."
        )
    ids = Counter(result.id for group in groups.values() for result in group)
    repeated = sum(count - 1 for count in ids.values())
    if repeated:
        caveats.append(
            f"{_plural(repeated, 'result')} of {agent} repeat work that another run did; "
            f"intervals are too narrow if they are copies."
        )
    return caveats


def _task_scores(
    env: str,
    results: list[Result],
    reference: Reference | None,
    worst: float | None,
    higher_is_better: bool,
) -> TaskScores:
    scores = [result.score for result in results if result.score is not None]
    outcomes = Counter(result.outcome for result in results)
    failed = outcomes["agent_fault"]
    counted = scores if worst is None else scores + [worst] * failed
    counts = Counts(
        results=len(results),
        scored=len(scores),
        agent_faults=failed,
        infrastructure_faults=outcomes["infrastructure_fault"],
        used=len(counted),
    )
    runs = np.asarray(counted, dtype=np.float64)
    return TaskScores(env, runs, counts, reference, higher_is_better)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
