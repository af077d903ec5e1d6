"""``ludus research``: let agents work on research tasks, and check what they did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli import research_exploits
from ludus.cli.bench_options import (
    Key,
    Name,
    Out,
    Retries,
    RunFolder,
    Several,
    Signers,
    StatementKey,
    Store,
    free_folder,
    see_current_folder,
)
from ludus.cli.console import echo, err, fail, out
from ludus.errors import Error
from ludus.terminal_text import printable

if TYPE_CHECKING:
    from ludus.bench.running.runner import BenchRun, RunSettings

__all__ = ["app", "resume_folder", "verify_folder"]

app = typer.Typer(
    help="Let agents work on research tasks, and check what they did.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
_CODES = (
    "Exit code 0 if every episode was scored, 1 if agents failed in some, 2 for a wrong call, 3 if "
    "faults of the infrastructure remained or the store lacks results, 130 if Ctrl-C ended it. "
    "Whatever ended it, every step that was taken is kept: go on with ludus research resume."
)
Tasks = Annotated[
    list[str], typer.Argument(metavar="TASK", help="Ids, folders or files; see ludus task list.")
]
Agents = Annotated[
    list[str],
    typer.Option(
        "--agent",
        help="react, scripted, replay, random, human, module:factory or file.py:factory; "
        "NAME=… renames it. Repeatable.",
    ),
]
AgentOptions = Annotated[
    Several,
    typer.Option(
        "--agent-option", help="key=value, the value being YAML; of the only agent. Repeatable."
    ),
]
Parallel = Annotated[int, typer.Option(min=1, help="Episodes at a time, a process each.")]
BaseUrl = Annotated[
    str | None, typer.Option(help="Of the model's server, up to /v1; keys are in OPENAI_API_KEY.")
]
Backend = Annotated[
    str | None, typer.Option(help="Of the sandboxes.", show_default="the first that works")
]

Unlimited = Annotated[
    bool,
    typer.Option(
        "--unlimited",
        help="Do without limits of memory and processors, where sandboxes cannot be held to any.",
    ),
]


@app.command("run", epilog=_CODES)
def run(
    tasks: Tasks,
    agent: Agents,
    agent_option: AgentOptions = None,
    model: Annotated[str | None, typer.Option(help="That the agent react asks.")] = None,
    base_url: BaseUrl = None,
    runs: Annotated[int, typer.Option(min=1, help="Episodes of each agent on each task.")] = 4,
    parallel: Parallel = 2,
    seed: Annotated[int, typer.Option(min=0, help="Of the first run; others count on.")] = 0,
    out_folder: Out = None,
    name: Name = None,
    store: Store = None,
    key: Key = None,
    retries: Retries = 2,
    backend: Backend = None,
    unlimited: Unlimited = False,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Actions of an episode.", show_default="the task's")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds of an episode.", show_default="10000")
    ] = None,
    cost_limit: Annotated[
        float | None, typer.Option(min=0.000001, help="Money of an episode.")
    ] = None,
) -> None:
    """Let agents work on tasks.

    Every episode runs in a process and a sandbox of its own and is recorded step by step. What is in
    the workspace at its end is graded once, on data that the agent never saw.

    A model on a server, four episodes, two at a time:

        ludus research run battleOfSexes --agent react --model NAME --base-url http://host:8000/v1

    With a limit on money, which needs prices for a million tokens:

        ludus research run blotto --agent react --model NAME --cost-limit 2 --agent-option 'prices={NAME: {input: 1, output: 4}}'

    A list of actions from a file; an agent of yours; all results in one place:

        ludus research run titanicSurvival --agent scripted --agent-option file=actions.yaml

        ludus research run titanicSurvival --agent mine=my_module:MyAgent --store results.sqlite

    Then: ludus bench report FOLDER, ludus research verify FOLDER, ludus leaderboard --store STORE.
    """  # noqa: E501 - examples are copied as they are
    from ludus.research.running import EpisodeOptions, parse_agent, parse_options, run_research
    from ludus.research.task.settings import MlgymSettings as Variables

    see_current_folder()
    try:
        given = parse_options(agent_option)
        if model is not None:
            given["model"] = model
        if given and len(agent) > 1:
            fail("--agent-option and --model are meant for one agent; run several one by one.")
        options = EpisodeOptions(
            max_steps=max_steps,
            time_limit=time_limit,
            cost_limit=cost_limit,
            backend=backend,
            unlimited=unlimited,
            base_url=base_url,
        )
        specs = [parse_agent(text, given) for text in agent]
        uses = [spec.use for spec in specs]
        kept = Variables.read().workspace_path
        short = name or (tasks[0] if len(tasks) == 1 and "/" not in tasks[0] else "research")
        folder = out_folder or free_folder(short, *([] if kept is None else [kept]))
        done = run_research(
            tasks,
            specs,
            out=folder,
            runs=runs,
            seed=seed,
            name=name,
            options=options,
            settings=_settings(folder, parallel, retries, key, store, shared="human" in uses),
        )
    except (Error, ValueError, OSError) as problem:
        fail(printable(problem, 4000))
    _conclude(done)


@app.command("resume", epilog=_CODES)
def resume(
    folder: RunFolder,
    parallel: Parallel = 2,
    retries: Retries = 2,
    base_url: BaseUrl = None,
    key: Key = None,
    store: Store = None,
) -> None:
    """Go on with a run that was interrupted or killed, where it stopped.

    Episodes that were begun go on from their last recorded step, with the same workspace and the
    same conversation. Those that faults of the infrastructure ended are tried again.

        ludus research resume runs/battleOfSexes-1
    """
    resume_folder(folder, parallel, retries, base_url=base_url, key=key, store=store)


@app.command("show")
def show(folder: RunFolder) -> None:
    """Show the results of a run, also while it goes on."""
    from ludus.bench.running.folder import BenchFolder
    from ludus.cli.research_tables import episodes_table
    from ludus.research.running.progress import standing

    try:
        opened = BenchFolder.open(folder)
        results = opened.own_results()
    except (Error, OSError) as problem:
        fail(printable(problem, 2000))
    out.print(episodes_table(results, opened.suite))
    finished = {one.id for one in results}
    for unit in (one for one in opened.unit_ids if one not in finished):
        found = standing(opened.path / "records" / unit)
        line = f"{unit}: not begun"
        if found is not None:
            line = f"{found}, {found.steps} of {found.most} steps"
        out.print(printable(line, 500), markup=False, highlight=False)


@app.command("verify")
def verify(
    folder: RunFolder,
    regrade: Annotated[bool, typer.Option(help="Grade again what was handed in.")] = True,
    trust: Signers = None,
    key: StatementKey = None,
    store: Store = None,
    backend: Backend = None,
    unlimited: Unlimited = False,
    task: Annotated[
        list[str] | None,
        typer.Option(help="Where a task lies that is not found by its id; its code is run."),
    ] = None,
) -> None:
    """Check every record of a run, and grade again what was handed in.

    What is found is signed and kept in the run's folder, and in a store if one is named. A single
    record is checked by ludus verify RECORD. Tasks are taken from this machine, by their ids; a
    file that the run names is not read unless --task names it as well.

    Exit code 1 if something is wrong, 2 for a wrong call.
    """
    verify_folder(
        folder,
        regrade=regrade,
        trust=trust,
        key=key,
        store=store,
        backend=backend,
        unlimited=unlimited,
        tasks=task or (),
    )


app.command("exploits")(research_exploits.run)


def resume_folder(
    folder: Path,
    parallel: int | None,
    retries: int,
    *,
    base_url: str | None = None,
    key: Path | None = None,
    store: str | None = None,
) -> None:
    """Go on with the run in a folder, tell what it came to, and end with its exit code."""
    from ludus.bench.running.folder import BenchFolder
    from ludus.research.running import resume_research

    see_current_folder()
    try:
        shared = any(row.use == "human" for row in BenchFolder.open(folder).agents)
        settings = _settings(folder, parallel or 2, retries, key, store, shared=shared)
        done = resume_research(folder, base_url=base_url, settings=settings)
    except (Error, ValueError, OSError) as problem:
        fail(printable(problem, 4000))
    _conclude(done)


def verify_folder(
    folder: Path,
    *,
    regrade: bool,
    trust: list[str] | None,
    key: Path | None = None,
    store: str | None,
    backend: str | None = None,
    unlimited: bool = False,
    tasks: Sequence[str] = (),
) -> None:
    """Check the run in a folder, tell what is wrong, and end with an exit code."""
    from ludus.bench.running.folder import BenchFolder
    from ludus.cli.verification import show_verification, verifying
    from ludus.research.running.verification import verify_research_run

    try:
        opened = BenchFolder.open(folder)
        with verifying(trust, key, store) as options:
            options |= {"backend": backend, "unlimited": unlimited, "tasks": tasks}
            done = verify_research_run(opened, regrade=regrade, **options)
            show_verification(opened, done)
    except (Error, OSError) as problem:
        fail(printable(problem, 2000))


def _settings(
    folder: Path,
    parallel: int,
    retries: int,
    key: Path | None,
    store: str | None,
    *,
    shared: bool = False,
) -> RunSettings:
    """Return how episodes are done; a terminal that is shared with a person has no bar."""
    from ludus.bench.running.runner import RunSettings
    from ludus.research.running.progress import EpisodeLines, EpisodeProgress

    has_bar = err.is_terminal and not shared
    progress = EpisodeProgress(err, folder) if has_bar else EpisodeLines(err)
    return RunSettings(
        workers=parallel, retries=retries, key=key, store=store, progress=progress, backoff=2.0
    )


def _conclude(done: BenchRun) -> None:
    from ludus.cli.research_tables import aup_lines, episodes_table, scores_table

    if done.results:
        out.print(episodes_table(done.results, done.suite))
        out.print(scores_table(done))
        for line in aup_lines(done):
            out.print(line, markup=False, highlight=False)
    counts = (
        f"{done.planned} episodes: {done.count('scored')} scored, "
        f"{done.count('agent_fault')} agent faults, "
        f"{done.count('infrastructure_fault')} infrastructure faults, {done.unfinished} not done."
    )
    out.print(counts, markup=False, highlight=False)
    echo(f"run {done.name} in {done.folder}")
    if done.store_problem:
        err.print(f"The store lacks results: {done.store_problem}", style="yellow", markup=False)
    if done.exit_code > 1:
        err.print(f"To go on: ludus research resume {done.folder}", markup=False, highlight=False)
    raise typer.Exit(done.exit_code)
