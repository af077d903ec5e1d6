"""``ludus task import``: import tasks of other systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ludus.cli import options
from ludus.cli.console import echo, failing_on, make_table, out
from ludus.errors import Error
from ludus.terminal_text import printable

__all__ = ["import_command"]

_STYLES = {"mapped": "green", "adapted": "yellow", "left out": "red"}


Threshold = Annotated[
    float | None, typer.Option(help="Score that counts as solved.", show_default="derived")
]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Which number of an MLGym evaluation is the score.",
        show_default="the first of baseline_scores",
    ),
]
CodeBesideTests = Annotated[
    bool,
    typer.Option(
        "--code-beside-tests",
        help="Accept that tests run submitted programs, which can forge the score.",
    ),
]


def import_command(
    source: Annotated[Path, typer.Argument(help="Folder or file of the other system.")],
    format: Annotated[str, typer.Option("--from", help="harbor, mle-bench or mlgym.")],
    folder: Annotated[
        Path, typer.Option("--out", help="Folder to create; a file for an agent of MLGym.")
    ],
    submit: Annotated[
        options.Several, typer.Option(help="File that the agent hands in. Repeatable.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the raw data to include.")] = None,
    threshold: Threshold = None,
    metric: Metric = None,
    code_beside_tests: CodeBesideTests = False,
    as_json: options.AsJson = False,
) -> None:
    """Import a task or agent of another system, and report how each field was mapped.

        ludus task import terminal-bench/hello --from harbor --out hello

        ludus task import competitions/my-data --from mle-bench --data raw --out my_data

        ludus task import MLGym/configs/tasks/titanic.yaml --from mlgym --out titanic

        ludus task import MLGym/configs/agents/default.yaml --from mlgym --out agent.yaml

    No imported program is run. Exit code 2 if the source cannot be imported.
    """
    from ludus.research.importing import ImportOptions, import_task

    chosen = ImportOptions(
        submit=tuple(submit or ()),
        data=data,
        threshold=threshold,
        metric=metric,
        code_beside_tests=code_beside_tests,
    )
    with failing_on(Error, OSError, most=4000):
        report = import_task(source, folder, format=format, options=chosen)
    if as_json:
        echo(json.dumps(report.to_dict(), indent=2))
        return
    table = make_table(f"{printable(report.id)}: {report.kind} from {report.format}")
    for column in ("field", "", "how"):
        table.add_column(column, overflow="fold")
    for row in report.rows:
        status = Text(row.status, style=_STYLES[row.status])
        table.add_row(Text(printable(row.field)), status, Text(printable(row.detail)))
    out.print(table)
    path = printable(report.path)
    then = f"task check {path}" if report.kind == "task" else "research run TASK --agent react"
    more = "" if report.kind == "task" else f" --model NAME --agent-config {path}"
    echo(f"Then run: ludus {then}{more}", to_err=True)
