"""Options of ``ludus research run``, some of which ``resume`` shares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli.options import Several

__all__ = [
    "AgentConfig",
    "AgentOptions",
    "Agents",
    "BaseUrl",
    "EpisodeCost",
    "EpisodeSeconds",
    "EpisodeSteps",
    "FirstSeed",
    "Models",
    "Parallel",
    "Runs",
    "Tasks",
    "WorkingSeconds",
]

Tasks = Annotated[
    list[str], typer.Argument(metavar="TASK", help="Ids, folders or files; see ludus task list.")
]
Agents = Annotated[
    Several,
    typer.Option(
        "--agent",
        help="react, scripted, replay, random, human, module:factory or file.py:factory; "
        "NAME=… renames it. Repeatable.",
        show_default="react with --model",
    ),
]
AgentOptions = Annotated[
    Several, typer.Option(help="key=value for the agent, the value as YAML. Repeatable.")
]
AgentConfig = Annotated[
    Path | None,
    typer.Option(help="YAML file with options of the agent; --agent-option overrides it."),
]
Models = Annotated[
    Several,
    typer.Option(help="Model that the agent react uses; each makes an agent. Repeatable."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="URL of the model server, up to /v1; its key is read from OPENAI_API_KEY."),
]
Runs = Annotated[int, typer.Option(min=1, help="Episodes of each agent on each task.")]
Parallel = Annotated[
    int, typer.Option(min=1, help="Episodes to run at the same time, one process each.")
]
FirstSeed = Annotated[
    int, typer.Option(min=0, help="Seed of the first episode; the others count up.")
]
EpisodeSteps = Annotated[
    int | None,
    typer.Option(min=1, help="Limit of actions per episode.", show_default="the task's"),
]
EpisodeSeconds = Annotated[
    float | None,
    typer.Option(min=0.001, help="Limit of seconds per episode.", show_default="10000"),
]
WorkingSeconds = Annotated[
    float | None,
    typer.Option(
        min=0.001, help="Limit of seconds per episode without those spent waiting for the model."
    ),
]
EpisodeCost = Annotated[
    float | None, typer.Option(min=0.000001, help="Limit of model costs per episode.")
]
