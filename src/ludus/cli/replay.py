"""``ludus replay``: replay a recording and compare the results."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict

import typer

from ludus.cli import options
from ludus.cli.console import FAILED, echo, failing_on, out, progress_bar
from ludus.errors import Error
from ludus.record import replay

__all__ = ["run"]


def run(
    path: options.RunFolder, imports: options.Imports = None, json: options.AsJson = False
) -> None:
    """Replay a recording, compare it bit for bit, and show the first difference.

    The environment is created by its id, from the code that is installed here.

    Exit code 0 if the replay is identical, 1 if it differs, 2 if a replay is not possible.
    """
    options.import_modules(imports)
    with failing_on(Error), progress_bar("replaying", hidden=json) as progress:
        found = replay(path, progress=progress)
    if json:
        echo(jsonlib.dumps(asdict(found), default=str))
    elif found.difference is None:
        text = f"{found.rows} rows, {found.episodes} episodes: identical, bit for bit"
        out.print(f"{text} ({found.seconds:.2f} s)", highlight=False)
    else:
        out.print(f"different at {found.difference}", style="red", markup=False, highlight=False)
    if found.difference is not None:
        raise typer.Exit(FAILED)
