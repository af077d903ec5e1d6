"""``ludus task``: create, check, run and list research tasks."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.table import Table
from rich.text import Text

from ludus.cli import options
from ludus.cli.console import (
    FAILED,
    INFRASTRUCTURE,
    add_ids,
    echo,
    fail,
    failing_on,
    make_table,
    out,
)
from ludus.cli.task_check import check_command
from ludus.cli.task_fetch import fetch_command
from ludus.cli.task_image import image_command
from ludus.cli.task_import import import_command
from ludus.errors import Error
from ludus.terminal_text import printable

if TYPE_CHECKING:
    from ludus.research.data.availability import Missing
    from ludus.research.grading.draws import DrawKind
    from ludus.research.running.solving import Solved
    from ludus.research.task.task import Task

__all__ = ["app"]

_WIDE = 110

Solution = Annotated[
    str, typer.Option(help="null, baseline, reference, or a folder to copy over the workspace.")
]
Command = Annotated[
    str | None,
    typer.Option(help="Command to run in the sandbox.", show_default="the solution's"),
]
Draws = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="What graders draw from: public (the seed alone, repeatable) or private.",
        show_default="private",
    ),
]

app = typer.Typer(help="Create, check, run and list research tasks.", no_args_is_help=True)
app.command("check")(check_command)
app.command("fetch")(fetch_command)
app.command("image")(image_command)
app.command("import")(import_command)


@app.command("new")
def new(
    id: Annotated[str, typer.Argument(help="Id of the task, such as myTask.")],
    folder: Annotated[Path, typer.Option(help="Parent of the new folder.")] = Path(),
    name: Annotated[str | None, typer.Option(help="Title of the task.")] = None,
) -> None:
    """Create a small complete task as a template.

    Exit code 2 if the id is invalid or the folder exists.
    """
    from ludus.research.task.scaffold import new_task

    with failing_on(Error, OSError, most=2000):
        made = new_task(id, folder, name=name)
    echo(made)
    echo(f"Edit its files, then run: ludus task check {made}", to_err=True)


@app.command("run")
def run(
    task: Annotated[str, typer.Argument(help="Id, folder or file of the task.")],
    solution: Solution = "baseline",
    command: Command = None,
    seed: options.Seed = 0,
    validate: Annotated[
        bool, typer.Option("--validate", help="Also score on the validation split.")
    ] = False,
    draws: Draws = None,
    backend: options.Backend = None,
    unlimited: options.Unlimited = False,
    gpus: options.Gpus = None,
    without_image: options.WithoutImage = False,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Run a solution in a sandbox and grade it like an agent's submission.

        ludus task run battleOfSexes

        ludus task run blotto --solution reference --draws public

        ludus task run ./my_task --solution ./attempt --command "python solve.py"

    Exit code 0 if it was scored, 1 if it was rejected or its command failed, 2 for wrong usage,
    3 if the infrastructure failed.
    """
    from ludus.research.running.solving import solve

    with failing_on(Error, ValueError, OSError, most=4000):
        found = solve(
            task,
            solution,
            command=command,
            seed=seed,
            validate=validate,
            backend=backend,
            unlimited=unlimited,
            draws=cast("DrawKind | None", draws),
            gpus=gpus,
            without_image=without_image,
            verbose=verbose or None,
        )
    if as_json:
        echo(json.dumps(_solved_json(found, seed), indent=2))
    else:
        out.print(_solved_table(found, seed))
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
    as_json: options.AsJson = False,
) -> None:
    """List the tasks that come with Ludus and those in MLGYM_TASK_CONFIG_DIR.

    The column "runs" says whether a task runs here, or what it lacks.

    Exit code 1 if a task's file is invalid.
    """
    from ludus.research.data.availability import find_missing
    from ludus.research.task.discovery import find_tasks

    with failing_on(Error, most=2000):
        found = find_tasks()
    tasks = sorted(found.tasks, key=lambda task: task.id.lower())
    if ids:
        for task in tasks:
            echo(task.id)
    elif as_json:
        rows = [
            {
                **task.config.model_dump(mode="json"),
                "file": str(task.file),
                "runs": not missing,
                "missing": [asdict(one) for one in missing],
            }
            for task, missing in zip(tasks, find_missing(tasks), strict=True)
        ]
        echo(json.dumps(rows, indent=2))
    else:
        _print_list(tasks, find_missing(tasks))
    if found.broken:
        fail("\n".join(printable(problem, 2000) for problem in found.broken.values()), FAILED)


@app.command("show")
def show(
    task: Annotated[str, typer.Argument(help="Id, folder or file of the task.")],
    as_json: options.AsJson = False,
) -> None:
    """Show a task: what is handed in, its limits, and the scale of its rewards.

    Exit code 2 if there is no such task.
    """
    from ludus.research.episode.limits import EpisodeLimits
    from ludus.research.task.discovery import load_task

    options.see_current_folder()
    with failing_on(Error, most=2000):
        found = load_task(task)
        limits = EpisodeLimits.of(found, steps=None, seconds=None, cost=None)
    config, scale = found.config, found.scale
    worth = "the sum of its class's rewards" if found.grades_itself else scale.described
    files = [f"{item.path} ({item.kind})" for item in found.submission]
    rows = {
        "id": found.env_id,
        "name": config.name,
        "description": " ".join(config.description.split()),
        "file": str(found.file),
        "handed in": ", ".join(files) or "nothing",
        "metric": f"{config.evaluation.metric}, {scale.direction} is better",
        "reward": worth,
        "fault": f"{scale.worst:.4g}",
        "steps": str(limits.steps),
        "seconds": f"{limits.seconds:g}; command {limits.long:g}, tool {limits.short:g}",
        "resources": ", ".join(f"{k} {v}" for k, v in config.resources.model_dump().items()),
        "image": config.image or "none: this machine's folders",
    }
    if as_json:
        echo(json.dumps(rows, indent=2))
        return
    table = Table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(printable(value, 4000)))
    out.print(table)


def _print_list(tasks: list[Task], missing: list[tuple[Missing, ...]]) -> None:
    table = make_table(f"{len(tasks)} tasks", simple=True)
    add_ids(table, "id", [task.config.id for task in tasks])
    names = out.width >= _WIDE
    columns = ("metric", "baseline", "threshold")
    for column in ("name", *columns, "steps", "runs") if names else (*columns, "runs"):
        table.add_column(column, overflow="fold")
    for task, lacks in zip(tasks, missing, strict=True):
        config, scores = task.config, task.config.evaluation
        arrow = "↑" if scores.direction == "higher" else "↓"
        baseline = "" if scores.baseline is None else f"{scores.baseline:.4g}"
        lack = f"no: {', '.join(one.what for one in lacks)}" if lacks else "yes"
        cells = (f"{scores.metric} {arrow}", baseline, f"{scores.threshold:g}")
        wide = (config.id, config.name, *cells, str(config.max_steps), lack)
        row = wide if names else (config.id, *cells, lack)
        table.add_row(*(Text(printable(cell)) for cell in row))
    out.print(table)
    if any(one.what == "data" for lacks in missing for one in lacks):
        out.print("Get missing data: ludus task fetch ID")


def _solved_table(found: Solved, seed: int) -> Table:
    """Return the outcome of a solution as a table."""
    scores = found.task.config.evaluation
    scale = found.task.scale
    rows: list[tuple[str, str]] = [
        ("task", f"{found.task.id}, seed {seed}"),
        ("solution", found.solution),
        ("outcome", found.outcome.replace("_", " ")),
    ]
    counted = scale.counted(found.outcome, found.score)
    if counted is not None:
        floor = "" if counted == found.score else " (floor)"
        rows.append((f"{scores.metric} (test)", f"{counted:.6g}{floor}"))
    if found.validation is not None:
        rows.append((f"{scores.metric} (validation)", f"{found.validation:.6g}"))
    if found.normalised is not None:
        rows.append(("normalised", f"{found.normalised:.4f}"))
    baseline = "unknown" if scale.baseline is None else f"{scale.baseline:g}"
    rows += [
        ("baseline … threshold", f"{baseline} … {scale.threshold:g}, {scale.direction} is better"),
        ("seconds", f"{found.run_seconds:.1f} to run, {found.grade_seconds:.1f} to grade"),
    ]
    table = Table(show_header=False)
    for name, value in rows:
        table.add_row(name, Text(printable(value)))
    return table


def _solved_json(found: Solved, seed: int) -> dict[str, Any]:
    """Return the outcome of a solution as JSON-ready data."""
    return {
        "task": found.task.id,
        "seed": seed,
        "solution": found.solution,
        "outcome": found.outcome,
        "metric": found.task.config.evaluation.metric,
        "score": found.score,
        "counted": found.task.scale.counted(found.outcome, found.score),
        "normalised": found.normalised,
        "validation": found.validation,
        "reason": found.reason,
        "details": dict(found.details),
        "exit_code": found.exit_code,
        "run_seconds": found.run_seconds,
        "grade_seconds": found.grade_seconds,
    }
