"""All figures of each agent, task by task and over all tasks, with denominators and caveats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ludus.bench.result import Result
from ludus.bench.statistics.bootstrap import Estimate, Seed, Statistic, estimate
from ludus.bench.statistics.gathering import AgentScores, Counts, FaultPolicy, TaskScores, gather
from ludus.bench.statistics.normalise import Normalised, Reference, normalise
from ludus.bench.statistics.scores import FloatArray, Scores, iqm, mean, median, optimality_gap

__all__ = ["Summary", "TaskSummary", "run_median", "summarise"]


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One agent on one task, in the task's own unit.

    Attributes:
        env: id of the environment.
        counts: the denominator.
        mean: over runs; ``None`` if no run counts, as the next three.
        median: over runs.
        iqm: over runs.
        normalised: the mean on the reference's scale, beside both; ``None`` without reference.
        reference: the task's minimum and maximum.
    """

    env: str
    counts: Counts
    mean: Estimate | None
    median: Estimate | None
    iqm: Estimate | None
    normalised: Normalised | None
    reference: Reference | None


@dataclass(frozen=True, slots=True)
class Summary:
    """One agent over all tasks.

    Attributes:
        agent: its name.
        counts: the denominator.
        tasks: each by itself.
        mean: over tasks of normalised means; ``None`` where scales differ and a task has no
            reference, or where the agent lacks a task that another has, as the next two.
        median: over tasks.
        iqm: over all runs.
        optimality_gap: below 1 on the references' scales; needs them even for a single task.
        normalised: whether the figures are on the references' scales, or on the only task's own.
        caveats: what has to be said beside the figures.
    """

    agent: str
    counts: Counts
    tasks: tuple[TaskSummary, ...]
    mean: Estimate | None
    median: Estimate | None
    iqm: Estimate | None
    optimality_gap: Estimate | None
    normalised: bool
    caveats: tuple[str, ...]


def run_median(scores: Scores) -> FloatArray:
    """Median over runs, whatever their task; for figures of a single task."""
    return np.asarray(np.median(scores.values, axis=-1))


def summarise(
    results: Iterable[Result],
    *,
    references: Mapping[str, Reference] | None = None,
    lower: Collection[str] = (),
    floors: Mapping[str, float] | None = None,
    faults: FaultPolicy = "worst",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: Seed = 0,
) -> dict[str, Summary]:
    """Summarise results, agent by agent.

    Args:
        results: of any number of agents.
        references: scale of each task, by environment id, with its floor.
        lower: tasks where lower is better; needed for those without a reference only.
        floors: floors of tasks without a reference.
        faults: how agents' faults count, see :func:`gather`.
        confidence: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: if an option is out of its range.
    """
    figure = partial(estimate, confidence=confidence, resamples=resamples, seed=seed)
    gathered = gather(results, references=references, lower=lower, floors=floors, faults=faults)
    tasks = {env for scores in gathered.values() for env in scores.with_runs}
    return {agent: _summary(scores, tasks, figure) for agent, scores in gathered.items()}


def _summary(scores: AgentScores, tasks: set[str], figure: partial[Estimate]) -> Summary:
    pool, caveats = scores.normalised(), list(scores.caveats)
    normalised = pool is not None
    lacking = sorted(tasks - set(scores.with_runs))
    if lacking:
        # A mean over the easier half of the tasks would stand beside means over all of them.
        pool, normalised = None, False
        caveats.append(
            f"No figure over all tasks: {scores.agent} lacks {', '.join(lacking)}, which others "
            f"have a run on."
        )
    elif pool is None and len(scores.with_runs) == 1:
        pool = scores.tasks[scores.with_runs[0]].as_scores()
    elif pool is None and scores.with_runs:
        unscaled = [env for env in scores.with_runs if scores.tasks[env].reference is None]
        caveats.append(
            f"No figure over all tasks: {', '.join(unscaled)} without a reference minimum and "
            f"maximum, and scores on different scales do not add up."
        )
    figures: dict[str, Statistic] = {"mean": mean, "median": median, "iqm": iqm}
    overall = {name: figure(one, pool) if pool else None for name, one in figures.items()}
    return Summary(
        agent=scores.agent,
        counts=scores.counts,
        tasks=tuple(_task_summary(task, figure) for task in scores.tasks.values()),
        optimality_gap=figure(optimality_gap, pool) if pool and normalised else None,
        normalised=normalised,
        caveats=tuple(caveats),
        **overall,
    )


def _task_summary(task: TaskScores, figure: partial[Estimate]) -> TaskSummary:
    pool = task.as_scores() if task.runs.size else None
    center = figure(mean, pool) if pool else None
    return TaskSummary(
        env=task.env,
        counts=task.counts,
        mean=center,
        median=figure(run_median, pool) if pool else None,
        iqm=figure(iqm, pool) if pool else None,
        normalised=normalise(center.value, task.reference) if center and task.reference else None,
        reference=task.reference,
    )
