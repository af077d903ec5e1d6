"""``ludus bench``: run suites of environments, compare agents, check and report results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli.bench_options import (
    Agents,
    Believe,
    Engine,
    Episodes,
    Imports,
    Key,
    MaxCost,
    MaxSeconds,
    MaxSteps,
    Name,
    Out,
    Retries,
    RunFolder,
    Seeds,
    Several,
    Signers,
    SkipMissing,
    StatementKey,
    Steps,
    Store,
    SuiteName,
    Trust,
    UnitSeconds,
    Workers,
    free_folder,
    parse_seeds,
    read_side,
    see_current_folder,
    settings_from,
)
from ludus.cli.console import FAILED, echo, err, fail, out
from ludus.errors import ComparisonRefused, Error
from ludus.terminal_text import printable

if TYPE_CHECKING:
    from ludus.bench.running.runner import BenchRun

__all__ = ["app"]

app = typer.Typer(
    help="Run suites of environments, compare agents, check and report results.",
    no_args_is_help=True,
)
_CODES = (
    "Exit code 0 if every unit was scored, 1 if agents failed in some, 2 for a wrong call, 3 if "
    "faults of the infrastructure remained or the store lacks results, 4 if a limit ended the run "
    "early, 130 if Ctrl-C did. Whatever ended it, what is finished is kept: go on with ludus bench "
    "resume."
)


@app.command("list")
def list_suites() -> None:
    """List the suites that come with Ludus."""
    from ludus.bench.planning.plan import missing_environments
    from ludus.bench.planning.suite import load_suite, suites
    from ludus.cli.bench_tables import suites_table

    found = [load_suite(name) for name in suites()]
    out.print(suites_table([(suite, missing_environments(suite)) for suite in found]))


@app.command("show")
def show_suite(suite: SuiteName) -> None:
    """Show a suite: environments, budgets, references, and what is not available here.

    Exit code 1 if an environment is not registered here, 2 if the suite is wrong.
    """
    from ludus.bench.planning.plan import missing_environments
    from ludus.bench.planning.suite import load_suite
    from ludus.cli.bench_tables import suite_table

    try:
        found = load_suite(suite)
        missing = missing_environments(found)
    except Error as problem:
        fail(problem)
    out.print(suite_table(found, {one.env for one in missing}))
    for one in missing:
        out.print(printable(one, 2000), highlight=False, soft_wrap=True)
    if missing:
        raise typer.Exit(FAILED)


@app.command("run", epilog=_CODES)
def run(
    suite: SuiteName,
    agent: Agents = None,
    out_folder: Out = None,
    name: Name = None,
    seeds: Seeds = None,
    episodes: Episodes = None,
    steps: Steps = None,
    unit_seconds: UnitSeconds = None,
    skip_missing: SkipMissing = False,
    trust_pickle: Trust = False,
    engine: Engine = "processes",
    workers: Workers = None,
    retries: Retries = 2,
    key: Key = None,
    store: Store = None,
    max_steps: MaxSteps = None,
    max_seconds: MaxSeconds = None,
    max_cost: MaxCost = None,
) -> None:
    """Run a suite.

    Every unit (agent, environment, seed) is recorded in the run's folder. A fault of the agent is
    a result; a fault of the infrastructure is tried again, and never counts.
    """
    from ludus.bench.planning.suite import load_suite
    from ludus.bench.running.runner import run_suite

    see_current_folder()
    try:
        chosen = load_suite(suite).changed(
            seeds=parse_seeds(seeds), episodes=episodes, steps=steps, max_seconds=unit_seconds
        )
        folder = out_folder or free_folder(name or chosen.name)
        limits = (max_steps, max_seconds, max_cost)
        done = run_suite(
            chosen,
            agent,
            out=folder,
            name=name,
            skip_missing=skip_missing,
            trust=trust_pickle,
            settings=settings_from(engine, workers, retries, key, store, limits),
        )
    except (Error, ValueError, OSError) as problem:
        fail(problem)
    _conclude(done)


@app.command("resume", epilog=_CODES)
def resume(
    folder: RunFolder,
    trust_pickle: Trust = False,
    engine: Engine = "processes",
    workers: Workers = None,
    retries: Retries = 2,
    key: Key = None,
    store: Store = None,
    max_steps: MaxSteps = None,
    max_seconds: MaxSeconds = None,
    max_cost: MaxCost = None,
) -> None:
    """Go on with a run that was interrupted, killed, or ended by a limit.

    What is finished is not repeated; faults of the infrastructure are tried again.
    """
    from ludus.bench.running.runner import resume_run
    from ludus.research.running import is_research_run

    if is_research_run(folder):
        from ludus.cli.research import resume_folder

        resume_folder(folder, workers, retries, key=key, store=store)
    see_current_folder()
    try:
        limits = (max_steps, max_seconds, max_cost)
        settings = settings_from(engine, workers, retries, key, store, limits)
        done = resume_run(folder, trust=trust_pickle, settings=settings)
    except (Error, ValueError, OSError) as problem:
        fail(problem)
    _conclude(done)


@app.command("compare")
def compare_runs(
    a: Annotated[str, typer.Argument(help="A run's folder; FOLDER@AGENT for one of several.")],
    b: Annotated[str, typer.Argument(help="Another, or the same with another agent.")],
    allow: Annotated[
        Several, typer.Option(help="An objection to overrule, by its word; repeatable.")
    ] = None,
    trust: Believe = None,
) -> None:
    """Compare two agents, or two runs of one.

    Refused where environments' versions, budgets, suites or seeds differ, or runs are not verified
    by a key that is trusted here.

    Exit code 1 if the comparison is refused, 2 for a wrong call.
    """
    from ludus.bench.comparing.comparison import compare
    from ludus.cli.bench_tables import comparison_table

    try:
        first, second = read_side(a, trust), read_side(b, trust)
        suite = first[0].suite
        found = compare(
            first[1],
            second[1],
            allow=allow or (),
            references=suite.references,
            lower=suite.lower,
            floors=suite.floors,
        )
    except ComparisonRefused as refusal:
        words = " ".join(f"--allow {word}" for word in refusal.reasons)
        fail(f"{refusal}\nHere: {words}" if words else refusal, FAILED)
    except (Error, ValueError) as problem:
        fail(problem)
    out.print(comparison_table(found))
    for line in (f"{found.a.label}: {found.a.counts}", f"{found.b.label}: {found.b.counts}"):
        out.print(printable(line, 2000), highlight=False)
    for caveat in found.caveats:
        out.print(f"note: {printable(caveat, 2000)}", highlight=False)


@app.command("report")
def report(
    folder: RunFolder,
    out_file: Annotated[
        Path | None, typer.Option("--out", help=".html or .md.", show_default="in the folder")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Headline.")] = None,
    trust: Believe = None,
) -> None:
    """Write a report of a run: one HTML file that needs no network, and Markdown.

    Results read as verified only if a trusted key has signed a statement about them: yours, those
    listed in trusted_keys beside it, and those given with --trust.
    """
    from ludus.bench.report import write_report
    from ludus.bench.running.folder import BenchFolder
    from ludus.record import trusted_keys
    from ludus.record.replay.provenance import provenance

    try:
        run_folder = BenchFolder.open(folder)
        files = write_report(
            run_folder.own_results(trusted_keys=trusted_keys(trust or ())),
            out_file or folder / "report.html",
            title=title or f"{run_folder.suite.title or run_folder.suite.name}: {run_folder.name}",
            references=run_folder.suite.references,
            lower=run_folder.suite.lower,
            floors=run_folder.suite.floors,
            planned=len(run_folder.unit_ids),
            provenance={
                "suite": run_folder.suite.name,
                "suite_digest": run_folder.suite.digest,
                "units planned": len(run_folder.unit_ids),
                "not available, left out": [row.env for row in run_folder.missing],
                **provenance(),
            },
        )
    except (Error, ValueError, OSError) as problem:
        fail(problem)
    echo(str(files.html))
    echo(str(files.markdown))


@app.command("verify")
def verify(
    folder: RunFolder,
    replay: Annotated[bool, typer.Option(help="Execute every record again.")] = True,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Most that executing one record again may take.")
    ] = 3600.0,
    trust: Signers = None,
    key: StatementKey = None,
    store: Store = None,
    imports: Imports = None,
) -> None:
    """Execute every record of a run again, and check what every result claims.

    What is found is signed and kept in the run's folder, and in a store if one is named. What could
    not be checked in full, for instance without the replay, stays a claim.

    Exit code 1 if something is wrong, 2 for a wrong call.
    """
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.verifying.verification import verify_run
    from ludus.cli.replay import import_modules
    from ludus.cli.verification import show_verification, verifying
    from ludus.research.running import is_research_run

    if is_research_run(folder):
        from ludus.cli.research import verify_folder

        verify_folder(folder, regrade=replay, trust=trust, key=key, store=store)
        return
    import_modules(imports)
    try:
        run_folder = BenchFolder.open(folder)
        with verifying(trust, key, store) as options:
            options |= {"replay": replay, "max_seconds": max_seconds}
            show_verification(run_folder, verify_run(run_folder, **options))
    except (Error, OSError) as problem:
        fail(problem)


@app.command("references")
def references(
    suite: SuiteName,
    units: Annotated[int, typer.Option(min=1, help="Of each agent on each environment.")] = 20,
) -> None:
    """Measure what scores are compared with: the random agent and the reference agents.

    Units have the suite's budget, and seeds from 1,000,000 on; the same call gives the same scores.
    """
    from ludus.bench.planning.suite import load_suite
    from ludus.bench.running.references import measure
    from ludus.cli.bench_tables import references_table

    try:
        found = load_suite(suite)
        out.print(references_table(found, list(measure(found, units=units))))
    except Error as problem:
        fail(problem)


def _conclude(done: BenchRun) -> None:
    from ludus.cli.bench_tables import run_table

    if done.results:
        out.print(run_table(done))
    counts = (
        f"{done.planned} units: {done.count('scored')} scored, "
        f"{done.count('agent_fault')} agent faults, "
        f"{done.count('infrastructure_fault')} infrastructure faults, {done.unfinished} not done."
    )
    out.print(counts, markup=False, highlight=False)
    for one in done.missing:
        out.print(f"left out: {printable(one, 2000)}", highlight=False)
    echo(f"run {done.name} in {done.folder}")
    if done.store_problem:
        err.print(f"The store lacks results: {done.store_problem}", style="yellow", markup=False)
    if done.exhausted:
        err.print(f"Partial results: {done.exhausted}.", style="yellow", markup=False)
    if done.exit_code > 1:
        err.print(f"To go on: ludus bench resume {done.folder}", markup=False, highlight=False)
    raise typer.Exit(done.exit_code)
