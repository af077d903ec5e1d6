"""Options that several commands of ``ludus bench`` share, and what they come to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli.console import err, fail

if TYPE_CHECKING:
    from ludus.bench.result import Result
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.running.runner import RunSettings

__all__ = [
    "Agents",
    "Believe",
    "Engine",
    "Episodes",
    "Imports",
    "Key",
    "MaxCost",
    "MaxSeconds",
    "MaxSteps",
    "Name",
    "Out",
    "Retries",
    "RunFolder",
    "Seeds",
    "Several",
    "Signers",
    "SkipMissing",
    "StatementKey",
    "Steps",
    "Store",
    "SuiteName",
    "Trust",
    "UnitSeconds",
    "Workers",
    "free_folder",
    "parse_seeds",
    "read_side",
    "see_current_folder",
    "settings_from",
]

Several = list[str] | None
SuiteName = Annotated[str, typer.Argument(help="A name, or a YAML file.")]
RunFolder = Annotated[Path, typer.Argument(help="The folder of a run.")]
Agents = Annotated[
    Several,
    typer.Option(
        help="random, heuristic, constant:JSON, module:factory, file.py:factory, "
        "sb3:PPO:model.zip, batch:16:module:factory; NAME=… renames it. Repeatable."
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="A new folder.", show_default="runs/NAME")]
Name = Annotated[str | None, typer.Option(help="Of the run.")]
Seeds = Annotated[
    str | None, typer.Option(help="How many, or which: 5, or 0,1,7.", show_default="the suite's")
]
Episodes = Annotated[int | None, typer.Option(min=1, help="Per unit.")]
Steps = Annotated[int | None, typer.Option(min=1, help="Per unit, instead.")]
UnitSeconds = Annotated[float | None, typer.Option(min=0.001, help="An agent's time per unit.")]
SkipMissing = Annotated[
    bool, typer.Option("--skip-missing", help="Leave out environments that are not here.")
]
Trust = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Load models that are unpickled, which runs their code."),
]
Engine = Annotated[str, typer.Option(help="processes, or serial.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Units at a time.", show_default="one per processor")
]
Retries = Annotated[int, typer.Option(min=0, help="Of faults of the infrastructure.")]
Key = Annotated[Path | None, typer.Option(help="A private key to sign the records with.")]
Imports = Annotated[
    Several,
    typer.Option("--import", help="A module that registers environments; repeatable."),
]
Believe = Annotated[
    Several,
    typer.Option(
        "--trust",
        help="A public key whose statements count, beside your own and those you listed; "
        "repeatable.",
    ),
]
Signers = Annotated[
    Several,
    typer.Option("--trust", help="A public key that must have signed the records; repeatable."),
]
StatementKey = Annotated[
    Path | None,
    typer.Option(help="A private key to sign the statement with.", show_default="your own"),
]
Store = Annotated[str | None, typer.Option(help="Keep results there too: a path or a URL.")]
MaxSteps = Annotated[int | None, typer.Option(min=1, help="End the run after so many steps.")]
MaxSeconds = Annotated[
    float | None, typer.Option(min=0.001, help="End the run after so many seconds.")
]
MaxCost = Annotated[
    float | None, typer.Option(min=0.000001, help="End the run when agents have spent this.")
]


def settings_from(
    engine: str,
    workers: int | None,
    retries: int,
    key: Path | None,
    store: str | None,
    limits: tuple[int | None, float | None, float | None],
) -> RunSettings:
    """Return how units are done; ``limits`` are steps, seconds and cost."""
    from ludus.bench.planning.budget import RunLimits
    from ludus.bench.running.progress import BarProgress, LineProgress
    from ludus.bench.running.runner import RunSettings

    steps, seconds, cost = limits
    chosen = RunLimits(max_steps=steps, max_seconds=seconds, max_cost=cost)
    return RunSettings(
        engine=engine,
        workers=workers,
        retries=retries,
        key=key,
        store=store,
        limits=None if limits == (None, None, None) else chosen,
        progress=BarProgress(err) if err.is_terminal else LineProgress(err),
    )


def parse_seeds(text: str | None) -> int | list[int] | None:
    """Return a number of seeds, or the seeds."""
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        fail(f"--seeds is a number, or numbers with commas between, not {text!r}.")
    return numbers if "," in text else numbers[0]


def free_folder(name: str, place: Path = Path("runs")) -> Path:
    """Return a folder in ``runs``, or another place, that is not there yet."""
    number = 1
    while (path := place / f"{name}-{number}").exists():
        number += 1
    return path


def see_current_folder() -> None:
    """Let ``module:factory`` name a module of the current folder, as ``python -m`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def read_side(text: str, trust: list[str] | None) -> tuple[BenchFolder, list[Result]]:
    """Return a run and its results of one agent, given as ``FOLDER`` or ``FOLDER@AGENT``."""
    from ludus.bench.running.folder import BenchFolder
    from ludus.record import trusted_keys

    path, at, agent = (text, "", "") if Path(text).exists() else text.rpartition("@")
    folder = BenchFolder.open(path or text)
    results = folder.own_results(trusted_keys=trusted_keys(trust or ()))
    names = sorted({one.agent for one in results})
    if not at and len(names) > 1:
        fail(f"{text} has several agents; choose one: {', '.join(f'{text}@{n}' for n in names)}.")
    chosen = [one for one in results if not at or one.agent == agent]
    if not chosen:
        fail(f"{folder.path} has no results of {agent!r}; it has {', '.join(names) or 'none'}.")
    return folder, chosen
