"""Scores of a run: means with intervals by task and agent, and a cell per seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ludus.bench.report.facts import Facts, collect
from ludus.bench.statistics.bootstrap import Estimate
from ludus.view.model.summary import EpisodeRow, RunSummary

__all__ = ["ScoreRow", "Scores", "scores_of"]


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One agent on one task.

    Attributes:
        task: The task.
        agent: The agent.
        mean: Of what the outcomes count as, with its interval.
        normalised: The mean between baseline and threshold.
        cells: The units, by seed.
        faults: How many are faults of the agent, and of the infrastructure.
    """

    task: str
    agent: str
    mean: Estimate | None
    normalised: float | None
    cells: list[EpisodeRow]
    faults: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """All rows, and the mean over tasks of each agent that has one on every task."""

    rows: list[ScoreRow]
    overall: Mapping[str, Estimate]
    lower: frozenset[str]


def scores_of(run: RunSummary) -> Scores:
    """Return the scores of a run; those of results whose verification failed do not count.

    Raises:
        ValueError: A reference of its suite is none.
    """
    facts = _facts(run)
    names = {one.id: one.env for one in run.results}
    groups: dict[tuple[str, str], list[EpisodeRow]] = defaultdict(list)
    for row in run.rows:
        groups[row.task, row.agent].append(row)
    rows = []
    for (task, agent), cells in sorted(groups.items()):
        envs = {names[one.unit] for one in cells if one.unit in names}
        cell = facts.cells.get((envs.pop(), agent)) if facts and len(envs) == 1 else None
        rows.append(
            ScoreRow(
                task=task,
                agent=agent,
                mean=None if cell is None else cell.mean,
                normalised=None if cell is None else cell.normalised,
                cells=sorted(cells, key=lambda one: (one.seed is None, one.seed or 0)),
                faults=(
                    sum(one.outcome == "agent_fault" for one in cells),
                    sum(one.outcome == "infrastructure_fault" for one in cells),
                ),
            )
        )
    figures = {} if facts is None else {a: f["Mean"] for a, f in facts.figures.items()}
    return Scores(rows, figures, frozenset() if facts is None else facts.lower)


def _facts(run: RunSummary) -> Facts | None:
    if run.suite is None or not run.results:
        return None
    suite = run.suite
    return collect(run.results, suite.references, suite.lower, suite.floors, len(run.rows))
