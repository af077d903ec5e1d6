"""``ludus task fetch``: get the data of tasks that come without it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from ludus.cli import options
from ludus.cli.console import FAILED, echo, err, failing_on
from ludus.errors import DataMissing, Error
from ludus.terminal_text import printable

__all__ = ["fetch_command"]


def fetch_command(
    task: Annotated[str, typer.Argument(help="Id, folder or file of the task.")],
    origin: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PLACE",
            help="Folder with the downloads or the unpacked data, or the address of a mirror.",
            show_default="where the data is published",
        ),
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="Fetch it even if it is here.")] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="Accept fewer rows than the dataset has.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Download or copy the data of a task, check it, and keep it in the cache.

        ludus task fetch imageClassificationCifar10

        ludus task fetch naturalLanguageInferenceMNLI --from ~/Downloads

    Digests, columns and numbers of rows are checked; data that is not right is not kept.
    Exit code 1 if it cannot be had or is not right, 2 for wrong usage.
    """
    from ludus.research.data.fetching import fetch_data
    from ludus.research.task.discovery import load_task

    columns = (
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with (
        failing_on(Error, most=4000),
        failing_on(DataMissing, OSError, code=FAILED, most=4000),
        Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars,
    ):
        found = load_task(task)
        shown: dict[str, TaskID] = {}

        def progress(name: str, done: int, size: int | None) -> None:
            if name not in shown:
                shown[name] = bars.add_task(printable(name))
            bars.update(shown[name], completed=done, total=size)

        made = fetch_data(found, origin=origin, again=again, sample=sample, progress=progress)
    if as_json:
        echo(json.dumps(None if made is None else made.to_dict(), indent=2))
    elif made is None:
        echo(f"{printable(found.id)} needs no data that has to be fetched.")
    else:
        rows = ", ".join(f"{name} {count:,}" for name, count in made.rows.items())
        state = "fetched" if made.is_new else "here already"
        echo(f"{made.name}: {state}, in {made.folder}" + (f" ({rows})" if rows else ""))
