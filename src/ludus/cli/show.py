"""``ludus show``: everything known about one environment."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer
from rich.table import Table

from ludus.cli.console import echo, fail, out
from ludus.errors import Error
from ludus.registration import spec as find

__all__ = ["run"]


def run(
    env_id: Annotated[str, typer.Argument(help="An environment id, e.g. CartPole-v1.")],
    json: Annotated[bool, typer.Option("--json", help="Print the spec as JSON.")] = False,
) -> None:
    """Show an environment's spec: limits, metadata, and what its code needs."""
    try:
        spec = find(env_id)
        if json:
            echo(spec.to_json())
            return
    except (Error, ValueError, TypeError) as problem:
        fail(problem)
    table = Table(title=spec.id, title_justify="left", show_header=False)
    for _ in ("name", "value"):
        table.add_column(overflow="fold")
    for item in dataclasses.fields(spec):
        value = getattr(spec, item.name)
        if item.name == "security":
            for part in dataclasses.fields(value):
                table.add_row(f"security.{part.name}", str(getattr(value, part.name)))
        elif value not in (None, (), {}) and item.name != "id":
            table.add_row(item.name, str(value))
    out.print(table)
