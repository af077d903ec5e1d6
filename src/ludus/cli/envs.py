"""``ludus envs``, ``show``, ``check``, ``as-gymnasium`` and ``as-mlgym``."""

from __future__ import annotations

import dataclasses
import json as jsonlib
import shlex
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Annotated, NoReturn
from urllib.parse import quote

import typer
from rich.table import Table

from ludus.checking import inspect_env
from ludus.cli import options
from ludus.cli.console import FAILED, add_ids, echo, fail, failing_on, make_table, out
from ludus.errors import Error
from ludus.interop.gymnasium.launch import run as launch
from ludus.registration import family_of, make, search
from ludus.registration import spec as find

__all__ = ["check_env", "list_envs", "run_as_gymnasium", "run_as_mlgym", "show_env"]

_MANY = 200
_WIDE = 110


def list_envs(
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


def show_env(
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
    echo(f"In a browser: ludus view --page {shlex.quote(f'/envs/{quote(spec.id)}')}")


def check_env(
    env_id: Annotated[
        str, typer.Argument(help="Environment id, or module:id to import a module first.")
    ],
    suppress: Annotated[list[str] | None, typer.Option(help="Rule to skip; repeatable.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check an environment: spaces, seeding, determinism, state, aliasing, rendering.

    Exit code 0 if it passes, 1 if a rule is violated, 2 if it cannot be created.
    """
    with (
        failing_on(Error, ImportError, TypeError, ValueError),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("default")
        env = make(env_id, disable_env_checker=True)
        report = inspect_env(env.unwrapped, suppress=suppress or ())
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        echo(message, to_err=True)
    if json:
        echo(jsonlib.dumps(report.to_dict()))
    else:
        out.print(str(report), markup=False, highlight=False, soft_wrap=True)
    if not report.ok:
        raise typer.Exit(FAILED)


def run_as_gymnasium(context: typer.Context) -> None:
    """Run a command with Ludus in place of Gymnasium, child processes included.

    Example: [bold]ludus as-gymnasium -- python train.py --steps 1000[/bold]

    The exit code is that of the command.
    """
    _run_command(context, launch, "ludus as-gymnasium -- python train.py")


def run_as_mlgym(context: typer.Context) -> None:
    """Run a command in which mlgym.environment is Ludus, child processes included.

    Example: [bold]ludus as-mlgym -- python program.py[/bold]

    The exit code is that of the command.
    """
    from ludus.interop.mlgym import alias

    _run_command(context, alias.launch, "ludus as-mlgym -- python program.py")


def _run_command(context: typer.Context, run: Callable[[list[str]], int], example: str) -> NoReturn:
    if not context.args:
        fail(f"No command given. Example: {example}")
    try:
        code = run(context.args)
    except OSError as problem:
        fail(f"Cannot run {context.args[0]!r}: {problem.strerror}", 127)
    raise typer.Exit(code)
