"""``ludus check``: does an environment keep the contract?"""

from __future__ import annotations

import json as jsonlib
import warnings
from typing import Annotated

import typer

from ludus.checking import inspect_env
from ludus.cli.console import FAILED, echo, fail, out
from ludus.errors import Error
from ludus.registration import make

__all__ = ["run"]


def run(
    env_id: Annotated[str, typer.Argument(help="An id, or module:id to import a module first.")],
    suppress: Annotated[
        list[str] | None, typer.Option(help="A rule to leave out; may be given several times.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check an environment: spaces, seeding, determinism, state, aliasing, rendering.

    Exit code 0 if it keeps the contract, 1 if a rule is broken, 2 if it cannot be made.
    """
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            env = make(env_id, disable_env_checker=True)
            report = inspect_env(env.unwrapped, suppress=suppress or ())
    except (Error, ImportError, TypeError, ValueError) as problem:
        fail(problem)
    for message in dict.fromkeys(str(warning.message) for warning in told):
        echo(message, to_err=True)
    if json:
        echo(jsonlib.dumps(report.to_dict()))
    else:
        out.print(str(report), markup=False, highlight=False, soft_wrap=True)
    if not report.ok:
        raise typer.Exit(FAILED)
