"""``ludus task``: make, check, run and list research tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ludus.cli.console import FAILED, add_ids, echo, fail, out
from ludus.errors import Error
from ludus.terminal_text import printable

__all__ = ["app"]

_WIDE = 110

app = typer.Typer(help="Make, check, run and list research tasks.", no_args_is_help=True)
INFRASTRUCTURE = 3
_STYLES = {"error": "red", "warning": "yellow"}
_As_json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("new")
def new(
    id: Annotated[str, typer.Argument(help="The task's id, such as myTask.")],
    folder: Annotated[Path, typer.Option(help="Where the task's folder is made.")] = Path(),
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
) -> None:
    """Write a small task that is complete, to be changed into yours.

    Exit code 2 if the id is none or the folder is there already.
    """
    from ludus.research.task.scaffold import new_task

    try:
        made = new_task(id, folder, name=name)
    except (Error, OSError) as problem:
        fail(printable(problem, 2000))
    echo(made)
    echo(f"Change its files, then: ludus task check {made}", to_err=True)


@app.command("check")
def check(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="Ids, folders or files; by default all tasks.")
    ] = None,
    build: Annotated[
        bool, typer.Option(help="Make the data too, and search it for answers.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Of the data that is made.")] = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    as_json: _As_json = False,
) -> None:
    """Find wrong fields, missing parts, and ways to the answers; the task's data.py is run.

    Exit code 1 if there are errors, 2 if there is no such task.
    """
    from ludus.research.linting import check_task, to_dict
    from ludus.research.task.discovery import find_tasks

    try:
        if not tasks:
            found = find_tasks()
            tasks = [str(file) for file in (*found.broken, *(task.file for task in found.tasks))]
        reports = [check_task(task, build=build, seed=seed) for task in tasks]
    except Error as problem:
        fail(printable(problem, 2000))
    if as_json:
        echo(json.dumps([to_dict(report) for report in reports], indent=2))
    else:
        for report in reports:
            out.print(Text(f"{printable(report.subject)}: {len(report.findings)} findings"))
            for found_here in report.findings:
                style = _STYLES[found_here.severity]
                out.print(Text(f"  {printable(found_here, 2000)}", style=style), soft_wrap=True)
    if any(not report.ok or (strict and report.findings) for report in reports):
        raise typer.Exit(FAILED)


@app.command("run")
def run(
    task: Annotated[str, typer.Argument(help="Its id, folder or file.")],
    solution: Annotated[
        str, typer.Option(help="baseline, reference, or a folder that is laid over the workspace.")
    ] = "baseline",
    command: Annotated[
        str | None, typer.Option(help="What to run in the sandbox.", show_default="the solution's")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of splits, opponents and graders.")] = 0,
    validate: Annotated[
        bool, typer.Option("--validate", help="Score on the validation split too.")
    ] = False,
    backend: Annotated[
        str | None, typer.Option(help="Of the sandboxes.", show_default="the first that works")
    ] = None,
    unlimited: Annotated[
        bool, typer.Option("--unlimited", help="Do without limits of memory and processors.")
    ] = False,
    as_json: _As_json = False,
) -> None:
    """Run a solution in a sandbox and grade it, as an agent's work is.

        ludus task run battleOfSexes

        ludus task run titanicSurvival --solution reference --seed 3

        ludus task run ./my_task --solution ./attempt --command "python solve.py"

    Exit code 0 if it was scored, 1 if it was refused or its command failed, 2 for a wrong call,
    3 if the infrastructure failed.
    """
    from ludus.cli.task_tables import solved_json, solved_table
    from ludus.research.running.solving import solve

    try:
        found = solve(
            task,
            solution,
            command=command,
            seed=seed,
            validate=validate,
            backend=backend,
            unlimited=unlimited,
        )
    except (Error, ValueError, OSError) as problem:
        fail(printable(problem, 4000))
    if as_json:
        echo(json.dumps(solved_json(found, seed), indent=2))
    else:
        out.print(solved_table(found, seed))
    if found.exit_code:
        echo(printable(found.output[-4000:], 5000), to_err=True)
    if found.outcome == "infrastructure_fault":
        fail(printable(found.reason, 4000), INFRASTRUCTURE)
    if found.outcome != "scored":
        fail(printable(found.reason, 4000), FAILED)
    if found.exit_code:
        fail(f"The command ended with exit code {found.exit_code}.", FAILED)


@app.command("list")
def list_tasks(
    ids: Annotated[bool, typer.Option("--ids", help="Print ids only, one per line.")] = False,
    as_json: _As_json = False,
) -> None:
    """List the tasks that come with Ludus and those in MLGYM_TASK_CONFIG_DIR.

    Exit code 1 if the file of one is wrong.
    """
    from ludus.research.task.discovery import find_tasks

    try:
        found = find_tasks()
    except Error as problem:
        fail(printable(problem, 2000))
    tasks = sorted(found.tasks, key=lambda task: task.id.lower())
    if as_json:
        rows = [{**task.config.model_dump(mode="json"), "file": str(task.file)} for task in tasks]
        echo(json.dumps(rows, indent=2))
    elif ids:
        for task in tasks:
            echo(task.id)
    else:
        table = Table(title=f"{len(tasks)} tasks", title_justify="left")
        add_ids(table, "id", [task.config.id for task in tasks])
        names = out.width >= _WIDE
        for column in (*(("name",) if names else ()), "metric", "baseline", "threshold", "steps"):
            table.add_column(column)
        for task in tasks:
            config, scores = task.config, task.config.evaluation
            arrow = "↑" if scores.direction == "higher" else "↓"
            baseline = "" if scores.baseline is None else f"{scores.baseline:g}"
            title = (config.id, config.name) if names else (config.id,)
            cells = (*title, f"{scores.metric} {arrow}", baseline)
            row = (*cells, f"{scores.threshold:g}", str(config.max_steps))
            table.add_row(*(Text(printable(cell)) for cell in row))
        out.print(table)
    if found.broken:
        fail("\n".join(printable(problem, 2000) for problem in found.broken.values()), FAILED)
