"""``ludus check``: check that an environment follows the Env API."""

from __future__ import annotations

import json as jsonlib
import warnings
from typing import Annotated

import typer

from ludus.checking import inspect_env
from ludus.cli.console import FAILED, echo, failing_on, out
from ludus.errors import Error
from ludus.registration import make

__all__ = ["run"]


def run(
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
