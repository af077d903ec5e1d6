"""Tables that ``ludus bench`` prints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ludus.bench.comparing.comparison import Comparison
from ludus.bench.planning.plan import Missing
from ludus.bench.planning.suite import Suite
from ludus.bench.running.references import Measured
from ludus.bench.running.runner import BenchRun
from ludus.bench.statistics import Counts, Estimate, number, summarise

__all__ = [
    "comparison_table",
    "references_table",
    "run_table",
    "suite_table",
    "suites_table",
]

NOTHING = "–"


def suites_table(found: Iterable[tuple[Suite, list[Missing]]]) -> Table:
    """Return the suites with how much of each is available."""
    rows = list(found)
    table = _table(f"{len(rows)} suites", "name", "environments", "available here", "description")
    for suite, missing in rows:
        total = len(suite.environments)
        table.add_row(
            suite.name, str(total), f"{total - len(missing)} of {total}", suite.description
        )
    return table


def suite_table(suite: Suite, missing: Collection[str]) -> Table:
    """Return the environments of a suite."""
    title = (
        f"{suite.name} version {suite.version}: {len(suite.environments)} environments, "
        f"{len(suite.seeds)} seeds, agents {', '.join(map(str, suite.agents))}"
    )
    table = _table(title, "environment", "here", "per unit", "counts as 0", "counts as 1", "source")
    for row in suite.environments:
        budget = suite.budget_of(row)
        amount = f"{budget.episodes} episodes" if budget.episodes else f"{budget.steps} steps"
        known = row.reference
        cells = (
            ("", "", "") if known is None else (f"{known.min:g}", f"{known.max:g}", known.source)
        )
        here = Text("no", style="yellow") if row.id in missing else Text("yes")
        table.add_row(Text(row.id), here, amount, *cells)
    return table


def run_table(done: BenchRun) -> Table:
    """Return scores by environment and agent, each with its denominator.

    As in reports and on leaderboards, a result whose verification failed counts nowhere.
    """
    suite = done.suite
    kept = [one for one in done.results if one.verified != "failed"]
    summaries = summarise(kept, references=suite.references, lower=suite.lower, floors=suite.floors)
    title = f"{done.suite.name}: mean over seeds of the mean return"
    faults = any(
        s.counts.agent_faults or s.counts.infrastructure_faults for s in summaries.values()
    )
    columns = ("environment", "agent", "mean", "95 % interval", "scaled", "n", "faults")
    table = _table(title, *columns[: None if faults else -1])
    environments = sorted({one.env for one in kept})
    for env in environments:
        for agent, summary in summaries.items():
            for task in (task for task in summary.tasks if task.env == env):
                scaled = NOTHING if task.normalised is None else f"{task.normalised.value:.3f}"
                cells = (*_estimate(task.mean), scaled, *_counts(task.counts, faults=faults))
                table.add_row(Text(env), Text(agent), *cells)
    if len(environments) > 1:
        for agent, summary in summaries.items():
            cells = (
                *_estimate(summary.iqm, "{:.3f}".format),
                "",
                *_counts(summary.counts, faults=faults),
            )
            table.add_row("IQM of scaled", Text(agent), *cells)
    return table


def _estimate(found: Estimate | None, written: Callable[[float], str] = number) -> tuple[str, str]:
    """Return a figure and its interval; there is none where a task has a single run."""
    if found is None:
        return NOTHING, NOTHING
    ends = found.interval
    return written(found.value), NOTHING if ends is None else " … ".join(map(written, ends))


def _counts(counts: Counts, *, faults: bool) -> tuple[str, ...]:
    said = f"{counts.agent_faults} agent, {counts.infrastructure_faults} infra"
    return (f"{counts.used}/{counts.results}", *([said] if faults else []))


def comparison_table(found: Comparison) -> Table:
    """Return a comparison as a table."""
    heading, *rows = found.cells()
    table = _table(f"{found.a.label} against {found.b.label}", *heading)
    for row in rows:
        # A figure above its interval reads better than both in one wrapped line.
        table.add_row(*(Text(cell.replace(" [", "\n[").replace(" (n", "\n(n")) for cell in row))
    return table


def references_table(suite: Suite, rows: list[Measured]) -> Table:
    """Return what was measured beside what the suite says."""
    title = f"{suite.name}: mean over {rows[0].units if rows else 0} units of the suite's budget"
    table = _table(title, "environment", "random", "heuristic", "optimum", "suite: 0", "suite: 1")
    known = {row.id: row.reference for row in suite.environments}
    for row in rows:
        said = known[row.env]
        cells = ("", "") if said is None else (f"{said.min:g}", f"{said.max:g}")
        measured = (row.random, row.heuristic, row.optimum)
        table.add_row(
            Text(row.env), *(NOTHING if one is None else f"{one:.6g}" for one in measured), *cells
        )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for column in columns:
        is_number = column in ("mean", "95 % interval", "scaled", "n")
        table.add_column(
            column,
            overflow="fold",
            no_wrap=is_number or column in ("environment", "agent"),
            justify="right" if is_number else "left",
        )
    return table
