"""``ludus bench``: run suites of environments, compare agents, verify and report results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli import options
from ludus.cli.console import FAILED, echo, fail, failing_on, out, print_line
from ludus.errors import ComparisonRefused, Error

__all__ = ["app"]

app = typer.Typer(
    help="Run suites of environments, compare agents, verify and report results.",
    no_args_is_help=True,
)
_CODES = (
    "Exit code 0 if every unit was scored, 1 if agents failed in some, 2 for wrong usage, 3 if "
    "infrastructure faults remained or the store lacks results, 4 if a limit stopped the run, 130 "
    "after Ctrl-C. Finished units are always kept; continue with ludus bench resume."
)
Agents = Annotated[
    options.Several,
    typer.Option(
        help="random, heuristic, constant:JSON, module:factory, file.py:factory, "
        "sb3:PPO:model.zip or batch:16:module:factory; NAME=… renames it. Repeatable."
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(help="Number of seeds (5), or the seeds (0,1,7).", show_default="the suite's"),
]
Engine = Annotated[str, typer.Option(help="processes or serial.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Units to run at the same time.", show_default="one per processor"),
]


@app.command("list")
def list_suites() -> None:
    """List the suites that come with Ludus."""
    from ludus.bench.planning.plan import missing_environments
    from ludus.bench.planning.suite import load_suite, suites
    from ludus.cli.results import suites_table

    found = [load_suite(name) for name in suites()]
    out.print(suites_table([(suite, missing_environments(suite)) for suite in found]))


@app.command("show")
def show_suite(suite: options.SuiteName) -> None:
    """Show a suite: environments, budgets, reference scores, and what is not installed.

    Exit code 1 if an environment is not registered, 2 if the suite is invalid.
    """
    from ludus.bench.planning.plan import missing_environments
    from ludus.bench.planning.suite import load_suite
    from ludus.cli.results import suite_table

    with failing_on(Error):
        found = load_suite(suite)
        missing = missing_environments(found)
    out.print(suite_table(found, {one.env for one in missing}))
    for one in missing:
        print_line(one)
    if missing:
        raise typer.Exit(FAILED)


@app.command("run", epilog=_CODES)
def run(
    suite: options.SuiteName,
    agent: Agents = None,
    out_folder: options.Out = None,
    name: options.Name = None,
    seeds: Seeds = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Episodes per unit.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps per unit, instead of episodes.")
    ] = None,
    unit_seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds an agent has per unit.")
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Skip environments that are not installed.")
    ] = False,
    trust_pickle: options.TrustPickle = False,
    engine: Engine = "processes",
    workers: Workers = None,
    retries: options.Retries = 2,
    key: options.Key = None,
    store: options.Store = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    view: options.View = False,
) -> None:
    """Run a suite.

    Every unit (agent, environment, seed) is recorded in the run's folder. A failure of the agent
    counts as a result. An infrastructure failure is retried and never counts.
    """
    from ludus.bench.planning.suite import load_suite
    from ludus.bench.running.runner import run_suite
    from ludus.cli.results import conclude

    options.see_current_folder()
    with failing_on(Error, ValueError, OSError):
        chosen = load_suite(suite).changed(
            seeds=options.parse_seeds(seeds),
            episodes=episodes,
            steps=steps,
            max_seconds=unit_seconds,
        )
        folder = out_folder or options.free_folder(name or chosen.name)
        limits = (max_steps, max_seconds, max_cost)
        settings = options.settings_from(engine, workers, retries, key, store, limits)
        with options.viewing(folder, wanted=view) as go_on_looking:
            done = run_suite(
                chosen,
                agent,
                out=folder,
                name=name,
                skip_missing=skip_missing,
                trust=trust_pickle,
                settings=settings,
            )
            try:
                conclude(done)
            finally:
                go_on_looking()


@app.command("resume", epilog=_CODES)
def resume(
    folder: options.BenchRunFolder,
    trust_pickle: options.TrustPickle = False,
    engine: Engine = "processes",
    workers: Workers = None,
    retries: options.Retries = 2,
    key: options.Key = None,
    store: options.Store = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
) -> None:
    """Continue a run that was interrupted, killed or stopped by a limit.

    Finished units are not repeated; units with infrastructure faults are retried.
    """
    from ludus.bench.running.runner import resume_run
    from ludus.cli.results import conclude
    from ludus.research.running import is_research_run

    if is_research_run(folder):
        from ludus.cli.research import resume as resume_research

        resume_research(folder, workers or 2, retries, key=key, store=store)
    options.see_current_folder()
    with failing_on(Error, ValueError, OSError):
        limits = (max_steps, max_seconds, max_cost)
        settings = options.settings_from(engine, workers, retries, key, store, limits)
        done = resume_run(folder, trust=trust_pickle, settings=settings)
    conclude(done)


@app.command("compare")
def compare_runs(
    a: Annotated[
        str, typer.Argument(help="Folder of a run; FOLDER@AGENT if it has several agents.")
    ],
    b: Annotated[str, typer.Argument(help="Another run, or another agent of the same run.")],
    allow: Annotated[
        options.Several,
        typer.Option(help="Reason for refusal to ignore, as named in the message; repeatable."),
    ] = None,
    trust: options.Trusted = None,
) -> None:
    """Compare two agents, or two runs of one agent.

    A comparison is refused if versions of environments, budgets, suites or seeds differ, or if a
    run is not verified by a trusted key.

    Exit code 1 if the comparison is refused, 2 for wrong usage.
    """
    from ludus.bench.comparing.comparison import compare
    from ludus.cli.results import comparison_table

    with failing_on(Error, ValueError):
        first, second = options.read_side(a, trust), options.read_side(b, trust)
        suite = first[0].suite
        try:
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
    out.print(comparison_table(found))
    for side in (found.a, found.b):
        print_line(f"{side.label}: {side.counts}")
    for caveat in found.caveats:
        print_line(f"note: {caveat}")


@app.command("report")
def report(
    folder: options.BenchRunFolder,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", help="File to write: .html or .md.", show_default="in the folder"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    trust: options.Trusted = None,
) -> None:
    """Write a report of a run as Markdown and as one self-contained HTML file.

    A result is shown as verified only if a trusted key signed a statement about it. Trusted are
    your own key, the keys listed in trusted_keys beside it, and those given with --trust.
    """
    from ludus.bench.report import write_report
    from ludus.bench.running.folder import BenchFolder
    from ludus.record import trusted_keys
    from ludus.record.replay.provenance import provenance

    with failing_on(Error, ValueError, OSError):
        run_folder = BenchFolder.open(folder)
        suite = run_folder.suite
        files = write_report(
            run_folder.own_results(trusted_keys=trusted_keys(trust or ())),
            out_file or folder / "report.html",
            title=title or f"{suite.title or suite.name}: {run_folder.name}",
            references=suite.references,
            lower=suite.lower,
            floors=suite.floors,
            planned=len(run_folder.unit_ids),
            provenance={
                "suite": suite.name,
                "suite_digest": suite.digest,
                "units planned": len(run_folder.unit_ids),
                "not available, left out": [row.env for row in run_folder.missing],
                **provenance(),
            },
        )
    echo(str(files.html))
    echo(str(files.markdown))


@app.command("verify")
def verify(
    folder: options.BenchRunFolder,
    replay: Annotated[bool, typer.Option(help="Replay every record.")] = True,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Time limit for the replay of one record.")
    ] = 3600.0,
    trust: options.Signers = None,
    key: options.StatementKey = None,
    store: options.Store = None,
    imports: options.Imports = None,
) -> None:
    """Replay every record of a run and check the claimed results.

    The findings are signed and written to the run's folder, and to a store if one is given. A
    result that was not checked in full, for example without the replay, remains a claim.

    Exit code 1 if a result is wrong, 2 for wrong usage.
    """
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.verifying.verification import verify_run
    from ludus.cli.results import show_verification, verifying
    from ludus.research.running import is_research_run

    if is_research_run(folder):
        from ludus.cli.research import verify as verify_research

        verify_research(folder, regrade=replay, trust=trust, key=key, store=store)
        return
    options.import_modules(imports)
    with failing_on(Error, OSError):
        run_folder = BenchFolder.open(folder)
        with verifying(trust, key, store) as given:
            given |= {"replay": replay, "max_seconds": max_seconds}
            show_verification(run_folder, verify_run(run_folder, **given))


@app.command("references")
def references(
    suite: options.SuiteName,
    units: Annotated[
        int, typer.Option(min=1, help="Units of each agent on each environment.")
    ] = 20,
) -> None:
    """Measure the reference scores of a suite: random agent and reference agents.

    Units have the suite's budget and seeds from 1,000,000 on, so the scores are reproducible.
    """
    from ludus.bench.planning.suite import load_suite
    from ludus.bench.running.references import measure
    from ludus.cli.results import references_table

    with failing_on(Error):
        found = load_suite(suite)
        out.print(references_table(found, list(measure(found, units=units))))
