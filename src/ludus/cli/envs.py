"""``ludus envs``: list and search environments."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from ludus.cli.console import FAILED, add_ids, echo, fail, failing_on, make_table, out
from ludus.registration import family_of, search

__all__ = ["run"]

_MANY = 200
_WIDE = 110


def run(
    text: Annotated[
        str, typer.Argument(help="Words to search for in ids, descriptions and tags.")
    ] = "",
    tag: Annotated[str | None, typer.Option(help="Only environments with this tag.")] = None,
    family: Annotated[str | None, typer.Option(help="Only environments of this family.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids only, one per line.")] = False,
) -> None:
    """List or search the registered environments, plugins included.

    Without a search, families with hundreds of environments are shown as one line; use --family
    to list them.

    Exit code 1 if nothing matches, 2 for an unknown tag or family.
    """
    with failing_on(ValueError):
        found = search(text, tag=tag, family=family)
    if not found:
        fail(f"No environment matches {text!r}.", FAILED)
    if ids:
        for spec in found:
            echo(spec.id)
        return
    table = make_table(f"{len(found)} environments")
    add_ids(table, "id", [spec.id for spec in found])
    for column in ("family", "steps", "description", "tags")[: 4 if out.width >= _WIDE else 3]:
        table.add_column(column)
    everything = not (text or tag or family)
    rows: list[tuple[str, ...]] = []
    for name, count in Counter(map(family_of, found)).items() if everything else ():
        if count > _MANY:
            found = [spec for spec in found if family_of(spec) != name]
            rows.append((f"{count} ids", name, "", f"ludus envs --family {name}", ""))
    for spec in found:
        steps = "" if spec.max_episode_steps is None else str(spec.max_episode_steps)
        described = spec.description or "", " ".join(spec.tags)
        rows.append((spec.id, family_of(spec), steps, *described))
    for row in rows:
        table.add_row(*row[: len(table.columns)])
    out.print(table)
