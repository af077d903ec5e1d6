"""``ludus task check``: find what is wrong with tasks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ludus.cli import options
from ludus.cli.console import (
    FAILED,
    INFRASTRUCTURE,
    NOTHING,
    echo,
    fail,
    failing_on,
    make_table,
    out,
)
from ludus.errors import Error, SandboxError
from ludus.terminal_text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from ludus.research.linting import Report
    from ludus.research.linting.measuring import MeasuredSolution

    Checked = tuple[Report, tuple[MeasuredSolution, ...]]

__all__ = ["check_command"]

_STYLES = {"error": "red", "warning": "yellow"}
_SAID = {True: "yes", False: "no", None: NOTHING}


Build = Annotated[bool, typer.Option(help="Also build the data and search it for leaked answers.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the data.")]


def check_command(
    tasks: Annotated[
        options.Several, typer.Argument(help="Ids, folders or files.", show_default="all tasks")
    ] = None,
    build: Build = True,
    run: Annotated[
        bool, typer.Option("--run", help="Also run and grade the task's own solutions.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="With --run: write the scores into task.yaml.")
    ] = False,
    seed: Seed = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    backend: options.Backend = None,
    unlimited: options.Unlimited = False,
    as_json: options.AsJson = False,
) -> None:
    """Check tasks for invalid fields, missing files and leaked answers; runs the task's data.py.

    With --run, the null submission, the baseline and the reference are run in sandboxes, graded
    with public and with fresh draws, and compared with the scores in task.yaml.

        ludus task check ./my_task --run --write

    Exit code 1 if there are errors, 2 if there is no such task, 3 if --run finds no sandbox.
    """
    from ludus.research.linting import check_task, ordered, to_dict
    from ludus.research.linting.measuring import measure_task
    from ludus.research.task.discovery import find_tasks

    if write and not run:
        fail("--write writes what --run measures; give both.")
    reports: list[Checked] = []
    with (
        failing_on(Error, OSError, most=2000),
        failing_on(SandboxError, code=INFRASTRUCTURE, most=2000),
    ):
        if not tasks:
            found = find_tasks()
            tasks = [str(file) for file in (*found.broken, *(task.file for task in found.tasks))]
        for task in tasks:
            checked: Checked = check_task(task, build=build, seed=seed), ()
            if run and not any(row.rule == "field" for row in checked[0].findings):
                measured = measure_task(
                    task, seed=seed, backend=backend, unlimited=unlimited, write=write
                )
                both = ordered((*checked[0].findings, *measured.findings))
                checked = replace(checked[0], findings=both), measured.solutions
            reports.append(checked)
            if not as_json:
                _print(*checked)
    if as_json:
        rows = [
            to_dict(report) | ({"measured": [row.to_dict() for row in solutions]} if run else {})
            for report, solutions in reports
        ]
        echo(json.dumps(rows, indent=2))
    if any(not report.ok or (strict and report.findings) for report, _ in reports):
        raise typer.Exit(FAILED)


def _print(report: Report, solutions: tuple[MeasuredSolution, ...]) -> None:
    out.print(Text(f"{printable(report.subject)}: {len(report.findings)} findings"))
    for found in report.findings:
        style = _STYLES[found.severity]
        out.print(Text(f"  {printable(found, 2000)}", style=style), soft_wrap=True)
    if solutions:
        out.print(_table(solutions))


def _table(solutions: tuple[MeasuredSolution, ...]) -> Table:
    columns = ("solution", "score", "fresh draws", "declared", "±", "agrees", "seconds")
    table = make_table("", *columns, right=("seconds",), simple=True)
    for row in solutions:
        ends = {f"{score:.4g}": None for score in _ends(row.fresh)}
        table.add_row(
            row.solution,
            _shown(row.score),
            " … ".join(ends) or NOTHING,
            _shown(row.declared),
            NOTHING if row.declared is None else f"{row.tolerance:.2g}",
            _SAID[row.agrees],
            f"{row.seconds:.1f}",
        )
    return table


def _ends(scores: tuple[float, ...]) -> tuple[float, ...]:
    return (min(scores), max(scores)) if scores else ()


def _shown(score: float | None) -> str:
    return NOTHING if score is None else f"{score:.6g}"
