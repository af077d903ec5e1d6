"""pass@k and pass^k of research tasks."""

from __future__ import annotations

from collections.abc import Mapping

from ludus.bench.report.document import (
    Cell,
    Column,
    ReportTable,
    Section,
    name,
    numeric,
    sentence,
    text,
)
from ludus.bench.report.facts import Facts
from ludus.bench.report.sections.aggregates import NAMESPACE
from ludus.bench.report.text import ABSENT, ratio, ratio_interval, share
from ludus.bench.statistics.bootstrap import Estimate
from ludus.bench.statistics.passing import Passing, passing

__all__ = ["solved"]

_TOLD = (
    "A run solves a task if its score reaches the task's threshold; an agent's fault does not. "
    "pass@k is the chance that at least one of k runs does, pass^k that all do, both estimated "
    "without bias from all runs that count; over tasks they are means, and there is none for an "
    "agent without a run of some task. A copy of a run that solves a task counts once. What is not "
    "verified is a claim. Intervals are of 95 %, "
    "from Jeffreys' prior, and so exist where all runs are alike."
)


def solved(facts: Facts) -> Section | None:
    """The section, where research tasks with a threshold were run."""
    results = [one for one in facts.results if one.env.startswith(NAMESPACE)]
    found = passing(results, facts.references)
    if not found:
        return None
    ks = sorted({k for one in found.values() for k in one.at})
    columns = (
        Column("Agent"),
        Column("Task"),
        *numeric(
            "Solved", "✓ verified", *(f"pass@{k}" for k in ks), *(f"pass^{k}" for k in ks if k > 1)
        ),
    )
    rows: list[tuple[Cell, ...]] = []
    for agent in (agent for agent in facts.agents if agent in found):
        mine = found[agent]
        label = name(agent, facts.style(agent))
        if len(mine.tasks) > 1:
            rows.append((label, text("all tasks"), *_cells(mine, ks)))
        rows += [(label, text(task.env), *_cells(mine.of(task.env), ks)) for task in mine.tasks]
    table = ReportTable(("Runs that solve their task.",), columns, tuple(rows))
    return Section("pass", "Research tasks: pass@k", (sentence(_TOLD), table))


def _cells(found: Passing, ks: list[int]) -> list[Cell]:
    return [
        text(share(found.successes, found.runs)),
        text(share(found.verified, found.successes)),
        *(_cell(found.at, k) for k in ks),
        *(_cell(found.every, k) for k in ks if k > 1),
    ]


def _cell(figures: Mapping[int, Estimate], k: int) -> Cell:
    found = figures.get(k)
    if found is None:
        return text(ABSENT)
    return text(f"{ratio(found.value)} {ratio_interval(found.low, found.high)}")
