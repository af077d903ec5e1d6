"""``ludus research``: run agents on research tasks and verify the results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli import options, research_exploits, research_options, research_output
from ludus.cli.console import echo, err, fail, failing_on, out, print_line
from ludus.errors import Error

if TYPE_CHECKING:
    from ludus.bench.agents.spec import AgentSpec
    from ludus.bench.running.runner import RunSettings

__all__ = ["app"]

app = typer.Typer(
    help="Run agents on research tasks and verify the results.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
_CODES = (
    "Exit code 0 if every episode was scored, 1 if agents failed in some, 2 for wrong usage, 3 if "
    "infrastructure faults remained or the store lacks results, 4 if --max-total-cost stopped the "
    "run, 130 after Ctrl-C. Every step taken "
    "is kept; continue with ludus research resume."
)
_RUN = """Run agents on tasks.

Each episode has its own process and sandbox and is recorded step by step. At its end the files
in the workspace are graded once, on data that the agent never saw.

A model on a server, four episodes, two at a time:

    ludus research run battleOfSexes --agent react --model NAME --base-url http://host:8000/v1

Two models on three tasks:

    ludus research run battleOfSexes blotto titanicSurvival --model A --model B

With a cost limit, which needs the prices per million tokens:

    ludus research run blotto --agent react --model NAME --cost-limit 2 --agent-option 'prices={NAME: {input: 1, output: 4}}'

A list of actions from a file; your own agent, with the results in a store:

    ludus research run titanicSurvival --agent scripted --agent-option file=actions.yaml

    ludus research run titanicSurvival --agent mine=my_module:MyAgent --store results.sqlite

Then: ludus research report FOLDER, ludus research verify FOLDER, ludus leaderboard --store STORE.
"""  # noqa: E501 - examples are copied as they are


@app.command("run", epilog=_CODES, help=_RUN)
def run(
    tasks: research_options.Tasks,
    agent: research_options.Agents = None,
    agent_option: research_options.AgentOptions = None,
    agent_config: research_options.AgentConfig = None,
    model: research_options.Models = None,
    base_url: research_options.BaseUrl = None,
    runs: research_options.Runs = 4,
    parallel: research_options.Parallel = 2,
    seed: research_options.FirstSeed = 0,
    out_folder: options.Out = None,
    name: options.Name = None,
    store: options.Store = None,
    key: options.Key = None,
    retries: options.Retries = 2,
    backend: options.Backend = None,
    unlimited: options.Unlimited = False,
    egress: options.Egress = None,
    max_steps: research_options.EpisodeSteps = None,
    time_limit: research_options.EpisodeSeconds = None,
    working_time: research_options.WorkingSeconds = None,
    cost_limit: research_options.EpisodeCost = None,
    max_total_cost: options.MaxTotalCost = None,
    gpus: options.Gpus = None,
    without_image: options.WithoutImage = False,
    verbose: options.Verbose = False,
    view: options.View = False,
) -> None:
    """Run agents on tasks."""
    from ludus.cli.research_results import conclude_research
    from ludus.research.running import EpisodeOptions, run_research

    options.see_current_folder()
    with failing_on(Error, ValueError, OSError, most=4000):
        specs = _agents(agent, model, agent_option, agent_config)
        folder = out_folder or _free_folder(name, tasks)
        shared = any(spec.use == "human" for spec in specs)
        settings = _settings(folder, parallel, retries, key, store, max_total_cost, shared=shared)
        episode = EpisodeOptions(
            max_steps=max_steps,
            time_limit=time_limit,
            working_time=working_time,
            cost_limit=cost_limit,
            backend=backend,
            unlimited=unlimited,
            egress=tuple(egress or ()),
            base_url=base_url,
            gpus=gpus,
            without_image=without_image,
            verbose=verbose,
        )
        with options.viewing(folder, wanted=view) as go_on_looking:
            done = run_research(
                tasks,
                specs,
                out=folder,
                runs=runs,
                seed=seed,
                name=name,
                options=episode,
                settings=settings,
            )
            try:
                conclude_research(done)
            finally:
                go_on_looking()


@app.command("resume", epilog=_CODES)
def resume(
    folder: options.BenchRunFolder,
    parallel: research_options.Parallel = 2,
    retries: options.Retries = 2,
    base_url: research_options.BaseUrl = None,
    key: options.Key = None,
    store: options.Store = None,
    max_total_cost: options.MaxTotalCost = None,
) -> None:
    """Continue a run that was interrupted or killed.

    Episodes that had begun continue from their last recorded step, with the same workspace and
    conversation. Those that ended with an infrastructure fault are retried.

        ludus research resume runs/battleOfSexes-1
    """
    from ludus.bench.running.folder import BenchFolder
    from ludus.cli.research_results import conclude_research
    from ludus.research.running import resume_research

    options.see_current_folder()
    with failing_on(Error, ValueError, OSError, most=4000):
        shared = any(row.use == "human" for row in BenchFolder.open(folder).agents)
        settings = _settings(folder, parallel, retries, key, store, max_total_cost, shared=shared)
        done = resume_research(folder, base_url=base_url, settings=settings)
    conclude_research(done)


@app.command("show")
def show(folder: options.BenchRunFolder, as_json: options.AsJson = False) -> None:
    """Show the results of a run, finished or not."""
    from ludus.bench.comparing.merging import merge_runs
    from ludus.bench.report.as_data import report_data
    from ludus.cli.research_results import episodes_table, pass_table
    from ludus.research.running.progress import standing, standing_table

    with failing_on(Error, OSError, most=2000):
        merged = merge_runs([folder])
        (opened,) = merged.folders
    finished = {one.id for one in merged.results}
    open_ones = [one for one in opened.unit_ids if one not in finished]
    found = {one: standing(opened.path / "records" / one) for one in open_ones}
    if as_json:
        plain = {one: None if row is None else row.plain() for one, row in found.items()}
        echo(json.dumps({**report_data(merged), "unfinished": plain}, allow_nan=False))
        return
    out.print(episodes_table(merged.results, opened.suite))
    if (solved := pass_table(merged.results, merged.references)) is not None:
        out.print(solved)
    begun = [row for row in found.values() if row is not None]
    if begun:
        print_line(f"{len(begun)} episodes have begun:")
        out.print(standing_table(begun, len(begun)))
    if waiting := [one for one, row in found.items() if row is None]:
        print_line(f"{len(waiting)} have not begun: {', '.join(waiting)}", 2000)


@app.command("verify")
def verify(
    folder: options.BenchRunFolder,
    regrade: Annotated[bool, typer.Option(help="Grade the submissions again.")] = True,
    trust: options.Signers = None,
    key: options.StatementKey = None,
    store: options.Store = None,
    backend: options.Backend = None,
    unlimited: options.Unlimited = False,
    task: Annotated[
        options.Several,
        typer.Option(
            help="Folder or file of a task that cannot be found by its id; its code is run. "
            "Repeatable."
        ),
    ] = None,
) -> None:
    """Check every record of a run and grade the submissions again.

    The findings are signed and written to the run's folder, and to a store if one is given. Tasks
    are looked up by their ids on this machine; a file that the run names is read only if --task
    names it as well. To check a single record, use ludus verify RECORD.

    Exit code 1 if a result is wrong, 2 for wrong usage.
    """
    from ludus.bench.running.folder import BenchFolder
    from ludus.cli.results import show_verification, verifying
    from ludus.research.running.verification import verify_research_run

    with failing_on(Error, OSError, most=2000):
        opened = BenchFolder.open(folder)
        with verifying(trust, key, store) as given:
            given |= {"backend": backend, "unlimited": unlimited, "tasks": task or ()}
            show_verification(opened, verify_research_run(opened, regrade=regrade, **given))


app.command("report")(research_output.report)
app.command("export")(research_output.export)
app.command("exploits")(research_exploits.run)


def _agents(
    texts: list[str] | None,
    models: list[str] | None,
    pairs: list[str] | None,
    config: Path | None,
) -> list[AgentSpec]:
    """Return the agents of a run; several models make as many agents of one."""
    from ludus.research.running import parse_agent, parse_options, read_agent_config

    given = {} if config is None else read_agent_config(config)
    given |= parse_options(pairs)
    if not texts and not models:
        fail("There is no agent; give --model NAME, or --agent with one of those in --help.")
    agents = texts or ["react"]
    if (given or models) and len(agents) > 1:
        fail("--agent-option, --agent-config and --model apply to a single agent; use one.")
    if not models:
        return [parse_agent(text, given) for text in agents]
    name, equals, _ = agents[0].partition("=")
    found = []
    for model in models:
        spec = parse_agent(agents[0], {**given, "model": model})
        several = bool(equals) and len(models) > 1
        found.append(replace(spec, name=f"{name}-{model}") if several else spec)
    return found


def _free_folder(name: str | None, tasks: list[str]) -> Path:
    """Return a folder for a run, in the current one or where MLGYM_WORKSPACE_PATH says."""
    from ludus.research.task.settings import MlgymSettings as Variables

    short = name or (tasks[0] if len(tasks) == 1 and "/" not in tasks[0] else "research")
    kept = Variables.read().workspace_path
    return options.free_folder(short, *([] if kept is None else [kept]))


def _settings(
    folder: Path,
    parallel: int,
    retries: int,
    key: Path | None,
    store: str | None,
    max_cost: float | None,
    *,
    shared: bool,
) -> RunSettings:
    """Return the run settings; ``shared``: a person uses the terminal, so no bar is drawn."""
    from ludus.bench.planning.budget import RunLimits
    from ludus.bench.running.runner import RunSettings
    from ludus.research.running.progress import EpisodeLines, EpisodeProgress

    has_bar = err.is_terminal and not shared
    progress = (EpisodeProgress if has_bar else EpisodeLines)(err, folder)
    return RunSettings(
        workers=parallel,
        retries=retries,
        key=key,
        store=store,
        limits=None if max_cost is None else RunLimits(max_cost=max_cost),
        progress=progress,
        backoff=2.0,
    )
