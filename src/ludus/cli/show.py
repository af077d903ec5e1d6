"""``ludus show``: show the spec of one environment."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer
from rich.table import Table

from ludus.cli import options
from ludus.cli.console import echo, failing_on, out
from ludus.errors import Error
from ludus.registration import spec as find

__all__ = ["run"]


def run(
    env_id: Annotated[str, typer.Argument(help="Environment id, e.g. CartPole-v1.")],
    json: options.AsJson = False,
) -> None:
    """Show an environment's spec: limits, metadata and required permissions."""
    with failing_on(Error, ValueError, TypeError):
        spec = find(env_id)
        if json:
            echo(spec.to_json())
            return
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
