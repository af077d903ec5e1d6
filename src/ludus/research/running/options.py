"""Options of a research run and its file ``research.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ludus.bench.result import read_json
from ludus.bench.running.folder import read_from, write_json
from ludus.errors import BenchError, ResearchError
from ludus.registration.table import registry
from ludus.research.grading.draws import DrawKind, draw_kind
from ludus.research.task.discovery import load_task
from ludus.research.task.registration import register_task
from ludus.research.task.reward import VERSION
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task
from ludus.sandbox.egress.rules import parse_rules

__all__ = ["FILE", "EpisodeOptions", "ImageRow", "RunFile", "TaskRow"]

FILE = "research.json"
_LARGEST = 1 << 22
_STRICT = ConfigDict(extra="forbid", frozen=True)
_Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class EpisodeOptions(BaseModel):
    """How episodes are played.

    Attributes:
        max_steps: Instead of the task's own.
        time_limit: Seconds of an episode; by default ``MLGYM_ENV_TIMEOUT``, or 10,000.
        cost_limit: What the agent may spend.
        working_time: Seconds of an episode without those spent waiting for the agent's model.
        backend: Of all sandboxes.
        egress: Hosts that agents' sandboxes may reach, besides those of the task.
        unlimited: Whether not to limit memory and processors, for machines that cannot.
        draws: ``"private"``, or ``"public"`` for predictable draws from the seed alone; by default
            ``LUDUS_RESEARCH_DRAWS``, or private.
        gpus: GPUs of the agent's sandbox instead of the task's own; by default ``MLGYM_GPUS``.
        without_image: Whether tasks run in this machine's folders, whatever image they name.
        verbose: Whether each episode has a log file.
        scale: Version of the scale that rewards are measured with; see
            :mod:`ludus.research.task.reward`. Runs keep the one that they were begun with.
        base_url: Of the model's server. Not compared on resumption: the same model may be served
            elsewhere.
    """

    model_config = _STRICT

    max_steps: Annotated[int, Field(gt=0)] | None = None
    time_limit: _Amount | None = None
    cost_limit: _Amount | None = None
    working_time: _Amount | None = None
    backend: str | None = None
    egress: tuple[str, ...] = ()
    unlimited: bool = False
    draws: DrawKind | None = None
    gpus: Annotated[int, Field(ge=0)] | None = None
    without_image: bool = False
    verbose: bool = False
    scale: Annotated[int, Field(ge=1, le=VERSION)] = VERSION
    base_url: str | None = None

    @field_validator("egress")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str, parse_rules(value)))

    def pinned(self) -> EpisodeOptions:
        """Return the options with the current values of environment variables.

        Raises:
            ResearchError: A variable has an invalid value.
        """
        variables = MlgymSettings.read()
        pinned = {
            "time_limit": self.time_limit or variables.env_timeout,
            "draws": draw_kind(self.draws),
            "gpus": variables.gpus if self.gpus is None else self.gpus,
        }
        return self.model_copy(update=pinned)

    def recorded(self) -> dict[str, Any]:
        """Return the options that the record of an episode holds.

        Those that records of earlier versions lack are there only if they are set.
        """
        later = {
            "gpus": self.gpus,
            "working_time": self.working_time,
            "without_image": self.without_image or None,
        }
        told = self.model_dump(exclude={"base_url", "scale", "verbose", *later})
        return told | {name: value for name, value in later.items() if value is not None}

    @property
    def policy(self) -> dict[str, Any]:
        """Fields of the agent's sandbox's policy to set otherwise."""
        limits: dict[str, Any] = {"memory": None, "cpus": None} if self.unlimited else {}
        return {**limits, "egress": self.egress} if self.egress else limits


class ImageRow(BaseModel):
    """The image in which a run's episodes of a task are played.

    Attributes:
        name: As the task names it.
        digest: What it was when the run began.
        sources: The names with digests by which registries had it.
    """

    model_config = _STRICT

    name: str
    digest: str
    sources: tuple[str, ...] = ()


class TaskRow(BaseModel):
    """A task of a run.

    Attributes:
        task: Its id, or the path of its file.
        digest: Of everything that its scores depend on.
        entry_point: ``"module:name"`` of its class, if it has one.
        description: As it was registered with its class.
        max_steps: Likewise.
        image: Its image, unless it has none or is run without.
    """

    model_config = _STRICT

    task: str
    digest: str
    entry_point: str | None = None
    description: str | None = None
    max_steps: int | None = None
    image: ImageRow | None = None

    def load(self) -> Task:
        """Load the task; its class is imported.

        Raises:
            TaskError: There is no such task.
        """
        if self.entry_point is not None and f"mlgym/{self.task}-v0" not in registry:
            # A worker's process has not registered what its parent has.
            register_task(self.task, self.entry_point, self.max_steps, self.description)
        return load_task(self.task)


class RunFile(BaseModel):
    """``research.json``, beside ``bench.json``: options, and tasks by environment id."""

    model_config = _STRICT

    format: Literal["ludus.research"] = "ludus.research"
    version: Literal[1] = 1
    options: EpisodeOptions
    tasks: dict[str, TaskRow]

    @classmethod
    def read(cls, folder: Path) -> RunFile:
        """Read the file of a run's folder.

        Raises:
            ResearchError: There is no such run, or the file is damaged.
        """
        source = folder / FILE
        try:
            content = read_from(folder, FILE, _LARGEST)
            if content is None:
                raise ResearchError(
                    f"There is no research run in {folder}: {source} is missing. Start one with "
                    f"ludus research run TASK --out {folder}."
                )
            told = read_json(content.decode("utf-8"))
            if isinstance(told, dict) and isinstance(told.get("options"), dict):
                # Runs that do not say were begun before there was a second version.
                told["options"] = {"scale": 1, **told["options"]}
            return cls.model_validate_json(json.dumps(told))
        except (BenchError, ValueError, RecursionError) as problem:
            raise ResearchError(
                f"{source} does not describe a research run: {str(problem)[:2000]}"
            ) from problem

    def write(self, folder: Path) -> None:
        """Write it atomically.

        Raises:
            OSError: It cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, self.model_dump())
