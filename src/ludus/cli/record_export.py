"""``ludus record export`` and ``ludus record import``: Minari datasets and Parquet files."""

from __future__ import annotations

from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ludus.cli import options
from ludus.cli.console import echo, fail, failing_on, progress_bar
from ludus.errors import Error
from ludus.interop import minari, parquet
from ludus.registration import make
from ludus.terminal_text import printable

__all__ = ["export_run", "import_run"]


class Format(Enum):
    """Export formats."""

    MINARI = "minari"
    PARQUET = "parquet"


def export_run(
    path: options.RunFolder,
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Folder of the dataset (ROOT/NAME-v0), or the file."),
    ],
    to: Annotated[Format, typer.Option("--to", help="Format to write.")],
    dataset_id: Annotated[
        str | None,
        typer.Option("--id", help="Minari: dataset id with a namespace; OUT must end in it."),
    ] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Minari: include unfinished episodes.")
    ] = False,
    observations: Annotated[
        bool | None,
        typer.Option(
            "--observations/--no-observations",
            help="Parquet: include observations, recomputed if not stored.",
            show_default="if stored",
        ),
    ] = None,
    imports: options.Imports = None,
) -> None:
    """Export a recording as a Minari dataset or a Parquet file.

    Existing files are not overwritten. Observations that were not stored are recomputed by a
    replay: always for Minari, on request for Parquet.

    Exit code 0 on success, 2 on failure.
    """
    options.import_modules(imports)
    with failing_on(Error, most=1000), progress_bar("exporting") as progress:
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
                text += f"; left out: {found.left_out} unfinished episodes"
    echo(printable(text, 1000))


def import_run(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Folder of a Minari dataset, or Parquet file.")
    ],
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder to create.")],
    env_id: Annotated[
        str | None,
        typer.Option("--env", help="Minari: id of the environment the dataset was made with."),
    ] = None,
    imports: options.Imports = None,
) -> None:
    """Import a Minari dataset, or a Parquet file exported by Ludus, as a run folder.

    Exit code 0 on success, 2 on failure.
    """
    options.import_modules(imports)
    with failing_on(Error, most=1000), progress_bar("importing") as progress:
        if source.is_dir():
            with nullcontext() if env_id is None else make(env_id) as env:
                found = minari.import_minari(source, path, env=env, progress=progress)
            text = f"{found.episodes} episodes, {found.steps} steps"
            if found.unreplayable is not None:
                text += f"; cannot be replayed: {found.unreplayable}"
        else:
            if env_id is not None:
                fail("--env is for Minari datasets; a Parquet file names its environment.")
            text = f"{parquet.import_parquet(source, path, progress=progress).rows} rows"
    echo(printable(text, 1000))
