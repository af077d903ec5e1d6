"""``ludus record export`` and ``ludus record import``: recordings as files of others, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ludus.cli.console import echo, fail, out
from ludus.cli.replay import import_modules
from ludus.errors import Error
from ludus.interop import minari, parquet
from ludus.interop.recordings import Progress as Report
from ludus.registration import make
from ludus.terminal_text import printable

__all__ = ["export_run", "import_run"]

Imports = Annotated[
    list[str] | None,
    typer.Option("--import", help="A module that registers environments; repeatable."),
]


class Format(Enum):
    """What a recording can be exported to."""

    MINARI = "minari"
    PARQUET = "parquet"


def export_run(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The dataset's folder (ROOT/NAME-v0), or the file."),
    ],
    to: Annotated[Format, typer.Option("--to", help="The format.")],
    dataset_id: Annotated[
        str | None,
        typer.Option("--id", help="Minari: the id, if it has a namespace (then OUT ends in it)."),
    ] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Minari: episodes that were cut short, too.")
    ] = False,
    observations: Annotated[
        bool | None,
        typer.Option(
            "--observations/--no-observations",
            help="Parquet: recompute them if they were not stored, or leave them out.",
        ),
    ] = None,
    imports: Imports = None,
) -> None:
    """Write a recording as a Minari dataset or as a Parquet file.

    Nothing is overwritten. Observations that were not stored are recomputed by executing the
    recording again: always for Minari, for Parquet if asked for.

    Exit code 0 if it was written, 2 if it could not be.
    """
    import_modules(imports)
    try:
        with _bar("exporting") as progress:
            if to is Format.PARQUET:
                if dataset_id is not None or unfinished:
                    fail("--id and --unfinished are for Minari datasets.")
                written = parquet.export_parquet(
                    path, target, observations=observations, progress=progress
                )
                text = f"{written.steps} steps"
            else:
                if observations is not None:
                    fail("A Minari dataset always has observations.")
                found = minari.export_minari(
                    path, target, dataset_id=dataset_id, unfinished=unfinished, progress=progress
                )
                text = f"{found.dataset_id}: {found.episodes} episodes, {found.steps} steps"
                if found.left_out:
                    text += f"; left out: {found.left_out} that were cut short"
    except Error as problem:
        fail(printable(problem, 1000))
    echo(printable(text, 1000))


def import_run(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A Minari dataset's folder, or a Parquet file.")
    ],
    path: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder to write.")],
    env_id: Annotated[
        str | None,
        typer.Option("--env", help="Minari: the id of the environment that it was made with."),
    ] = None,
    imports: Imports = None,
) -> None:
    """Write a Minari dataset, or a Parquet file that Ludus exported, as a run folder.

    Exit code 0 if it was written, 2 if it could not be.
    """
    import_modules(imports)
    try:
        with _bar("importing") as progress:
            if source.is_dir():
                with nullcontext() if env_id is None else make(env_id) as env:
                    found = minari.import_minari(source, path, env=env, progress=progress)
                text = f"{found.episodes} episodes, {found.steps} steps"
                if found.unreplayable is not None:
                    text += f"; cannot be replayed: {found.unreplayable}"
            else:
                if env_id is not None:
                    fail("--env is for Minari datasets; a Parquet file says what it was made with.")
                text = f"{parquet.import_parquet(source, path, progress=progress).rows} rows"
    except Error as problem:
        fail(printable(problem, 1000))
    echo(printable(text, 1000))


@contextmanager
def _bar(text: str) -> Iterator[Report]:
    """Show a bar on a terminal while the block runs."""
    columns = (TextColumn(text), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
