"""``ludus envs``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from ludus.cli.console import FAILED, fail, out
from ludus.registration import family_of, search

__all__ = ["run"]


def run(
    text: Annotated[
        str, typer.Argument(help="Words that must occur in id, description or tags.")
    ] = "",
    tag: Annotated[str | None, typer.Option(help="Only environments with this tag.")] = None,
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids only, one per line.")] = False,
) -> None:
    """List or search the registered environments, plugins included.

    Exit code 1 if nothing matches, 2 for an unknown tag or family.
    """
    try:
        found = search(text, tag=tag, family=family)
    except ValueError as problem:
        fail(problem)
    if not found:
        fail(f"No environment matches {text!r}.", FAILED)
    if ids:
        for spec in found:
            typer.echo(spec.id)
        return
    table = Table(title=f"{len(found)} environments", title_justify="left")
    for column in ("id", "family", "steps", "description", "tags"):
        table.add_column(column)
    for spec in found:
        steps = "" if spec.max_episode_steps is None else str(spec.max_episode_steps)
        table.add_row(spec.id, family_of(spec), steps, spec.description or "", " ".join(spec.tags))
    out.print(table)
