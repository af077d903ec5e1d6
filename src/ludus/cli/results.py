"""Output of ``ludus bench``: tables, summaries, verifications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from ludus.bench.comparing.comparison import Comparison
from ludus.bench.planning.plan import Missing
from ludus.bench.planning.suite import Suite
from ludus.bench.running.references import Measured
from ludus.bench.running.runner import BenchRun
from ludus.bench.statistics import Counts, Estimate, number, summarise
from ludus.cli.console import FAILED, NOTHING, echo, err, make_table, out, print_line
from ludus.errors import DependencyNotInstalled

if TYPE_CHECKING:
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.verifying.verification import UnitVerification

__all__ = [
    "comparison_table",
    "conclude",
    "end_run",
    "estimate_cells",
    "print_counts",
    "references_table",
    "run_table",
    "show_verification",
    "suite_table",
    "suites_table",
    "verifying",
]

_NUMBERS = ("mean", "95 % interval", "scaled", "n")
_WHOLE = (*_NUMBERS, "environment", "agent")


def suites_table(found: Iterable[tuple[Suite, list[Missing]]]) -> Table:
    """Return a table of suites and how many of their environments are installed."""
    rows = list(found)
    table = _table(f"{len(rows)} suites", "name", "environments", "available here", "description")
    for suite, missing in rows:
        total = len(suite.environments)
        table.add_row(
            suite.name, str(total), f"{total - len(missing)} of {total}", suite.description
        )
    return table


def suite_table(suite: Suite, missing: Collection[str]) -> Table:
    """Return a table of a suite's environments."""
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
    """Return the scores by environment and agent, with the number of results.

    As in reports and on leaderboards, results whose verification failed are left out.
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
                cells = (*estimate_cells(task.mean), scaled, *_counts(task.counts, faults=faults))
                table.add_row(Text(env), Text(agent), *cells)
    if len(environments) > 1:
        for agent, summary in summaries.items():
            cells = (
                *estimate_cells(summary.iqm, "{:.3f}".format),
                "",
                *_counts(summary.counts, faults=faults),
            )
            table.add_row("IQM of scaled", Text(agent), *cells)
    return table


def estimate_cells(
    found: Estimate | None, written: Callable[[float], str] = number
) -> tuple[str, str]:
    """Return a value and its confidence interval; a single run has no interval."""
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
    """Return the measured scores beside the suite's reference scores."""
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


def conclude(done: BenchRun) -> NoReturn:
    """Print the results of a run and exit with its code."""
    if done.results:
        out.print(run_table(done))
    print_counts(done, "units")
    for one in done.missing:
        print_line(f"left out: {one}")
    if done.exhausted:
        err.print(f"Partial results: {done.exhausted}.", style="yellow")
    end_run(done, "bench")


def print_counts(done: BenchRun, units: str) -> None:
    """Print how many units, or episodes, were scored, failed or not done."""
    echo(
        f"{done.planned} {units}: {done.count('scored')} scored, "
        f"{done.count('agent_fault')} agent faults, "
        f"{done.count('infrastructure_fault')} infrastructure faults, {done.unfinished} not done."
    )


def end_run(done: BenchRun, command: str) -> NoReturn:
    """Print where a run is and how to continue it, and exit with its code."""
    echo(f"run {done.name} in {done.folder}")
    if done.store_problem:
        err.print(f"The store lacks results: {done.store_problem}", style="yellow")
    if done.exit_code > 1:
        err.print(f"Continue with: ludus {command} resume {done.folder}", highlight=False)
    raise typer.Exit(done.exit_code)


def _table(title: str, *columns: str) -> Table:
    return make_table(title, *columns, right=_NUMBERS, whole=_WHOLE, simple=True)


_WORDS = ("verified", "claimed", "failed")


@contextmanager
def verifying(
    trust: list[str] | None, key: Path | None, store: str | None
) -> Iterator[dict[str, Any]]:
    """Open key and store; yield the keyword arguments of the verification.

    The fingerprint of the signing key is printed, because the first verification creates one.

    Args:
        trust: Public keys that must have signed the records.
        key: Path of the private key that signs the statement.
        store: Store to which the statement is also written.
    """
    from ludus.record import load_public_key, load_signing_key, own_key

    with ExitStack() as stack:
        opened = None
        if store is not None:
            from ludus.bench.store import open_store

            opened = stack.enter_context(open_store(store, create=False))
        signer = None
        # Without cryptography nothing is signed, and the verification reports that.
        with suppress(DependencyNotInstalled):
            signer = own_key() if key is None else load_signing_key(key)
            err.print(f"The statement is signed by {signer.fingerprint}.", highlight=False)
        yield {
            "trusted_keys": [load_public_key(one) for one in trust] if trust else None,
            "key": signer,
            "store": opened,
        }


def show_verification(folder: BenchFolder, done: Iterable[UnitVerification]) -> None:
    """Print the findings of a verification as they come.

    Raises:
        typer.Exit: A result is wrong.
    """
    counts: Counter[str] = Counter()
    for one in done:
        result = one.result
        counts[result.verified] += 1
        for problem in one.problems or one.unchecked:
            print_line(f"{result.agent} on {result.env}, seed {result.seed}: {problem}")
    missing = len(folder.unit_ids) - sum(counts.values())
    rest = f", {missing} without a record" if missing else ""
    echo(", ".join(f"{counts[word]} {word}" for word in _WORDS) + rest)
    if counts["failed"]:
        raise typer.Exit(FAILED)
