"""Options that several commands share, and functions that read their values."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli.console import echo, err, fail

if TYPE_CHECKING:
    from ludus.bench.result import Result
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.running.runner import RunSettings

__all__ = [
    "AsJson",
    "Backend",
    "BenchRunFolder",
    "Egress",
    "Imports",
    "Key",
    "MaxCost",
    "MaxSeconds",
    "MaxSteps",
    "MaxTotalCost",
    "Name",
    "Out",
    "Retries",
    "RunFolder",
    "Seed",
    "Several",
    "Signers",
    "StatementKey",
    "Store",
    "SuiteName",
    "TrustPickle",
    "Trusted",
    "Unlimited",
    "View",
    "free_folder",
    "import_modules",
    "parse_seeds",
    "read_side",
    "see_current_folder",
    "settings_from",
    "viewing",
]

Several = list[str] | None
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Backend = Annotated[
    str | None, typer.Option(help="Sandbox backend.", show_default="the first that works")
]
BenchRunFolder = Annotated[Path, typer.Argument(help="Folder of a benchmark run.")]
Egress = Annotated[
    Several,
    typer.Option(
        metavar="HOST[:PORT]",
        help="Host that the sandbox may reach, by a proxy; *.SUFFIX for all below one. Repeatable.",
        show_default="none",
    ),
]
Imports = Annotated[
    Several,
    typer.Option("--import", help="Module that registers environments; repeatable."),
]
Key = Annotated[Path | None, typer.Option(help="Private key to sign the records with.")]
MaxCost = Annotated[
    float | None, typer.Option(min=0.000001, help="Stop the run at this cost of model calls.")
]
MaxTotalCost = Annotated[
    float | None,
    typer.Option(
        min=0.000001,
        help="Start no further episode once all together have cost this; those that run go on.",
    ),
]
MaxSeconds = Annotated[
    float | None, typer.Option(min=0.001, help="Stop the run after this many seconds.")
]
MaxSteps = Annotated[int | None, typer.Option(min=1, help="Stop the run after this many steps.")]
Name = Annotated[str | None, typer.Option(help="Name of the run.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder to create.", show_default="runs/NAME")
]
Retries = Annotated[
    int, typer.Option(min=0, help="How often to retry after an infrastructure failure.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of splits, opponents and graders.")]
Signers = Annotated[
    Several,
    typer.Option("--trust", help="Public key that must have signed the records; repeatable."),
]
StatementKey = Annotated[
    Path | None,
    typer.Option(help="Private key to sign the statement with.", show_default="your own"),
]
Store = Annotated[
    str | None, typer.Option(help="Also write results to this store: a path or a URL.")
]
SuiteName = Annotated[str, typer.Argument(help="Name of a suite, or a YAML file.")]
Trusted = Annotated[
    Several,
    typer.Option(
        "--trust",
        help="Public key to trust, besides your own and those in trusted_keys; repeatable.",
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Load pickled models, which can run any code."),
]
WithoutImage = Annotated[
    bool,
    typer.Option(
        "--without-image",
        help="Run tasks in this machine's folders, whatever image they name; results stay claims.",
    ),
]
Gpus = Annotated[
    int | None,
    typer.Option(
        min=0, help="GPUs of the agent's sandbox; 0 does without.", show_default="the task's"
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Write a log file for each episode; see LUDUS_LOG.")
]
View = Annotated[
    bool,
    typer.Option("--view", help="Show the run in a browser while it goes on; see ludus view."),
]
Unlimited = Annotated[
    bool,
    typer.Option(
        "--unlimited",
        help="Run sandboxes without memory and CPU limits, where these cannot be enforced.",
    ),
]


def settings_from(
    engine: str,
    workers: int | None,
    retries: int,
    key: Path | None,
    store: str | None,
    limits: tuple[int | None, float | None, float | None],
) -> RunSettings:
    """Return the settings of a benchmark run; ``limits`` are steps, seconds and cost."""
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


@contextmanager
def viewing(folder: Path, *, wanted: bool) -> Iterator[Callable[[], None]]:
    """Serve the viewer beside a run, if that is wanted.

    Yields a function that lets somebody at the terminal go on looking after the run.
    """
    if not wanted:
        yield lambda: None
        return
    from ludus.view.beside import ViewerBeside

    with ViewerBeside(folder, lambda text: echo(text, to_err=True)) as viewer:
        yield viewer.wait


def parse_seeds(text: str | None) -> int | list[int] | None:
    """Return a number of seeds, or a list of seeds."""
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        fail(f"--seeds takes a number, or numbers separated by commas, not {text!r}.")
    return numbers if "," in text else numbers[0]


def free_folder(name: str, place: Path = Path("runs")) -> Path:
    """Return a path below ``place`` that does not exist yet: ``name`` and a number."""
    number = 1
    while (path := place / f"{name}-{number}").exists():
        number += 1
    return path


def see_current_folder() -> None:
    """Make modules in the current folder importable, as ``python -m`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def import_modules(names: list[str] | None) -> None:
    """Import modules so that they register environments; exit if one cannot be imported."""
    for name in names or ():
        try:
            importlib.import_module(name)
        except ImportError as problem:
            fail(f"The module {name!r} cannot be imported: {problem}")


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
