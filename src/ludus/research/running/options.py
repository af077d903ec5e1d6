"""Options of a research run and its file ``research.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ludus.bench.result import read_json
from ludus.bench.running.folder import read_from, write_json
from ludus.errors import BenchError, ResearchError
from ludus.research.grading.draws import DrawKind, draw_kind
from ludus.research.task.settings import MlgymSettings
from ludus.sandbox.egress.rules import parse_rules

__all__ = ["FILE", "EpisodeOptions", "RunFile", "TaskRow"]

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
        backend: Of all sandboxes.
        egress: Hosts that agents' sandboxes may reach, besides those of the task.
        unlimited: Whether not to limit memory and processors, for machines that cannot.
        draws: ``"private"``, or ``"public"`` for predictable draws from the seed alone; by default
            ``LUDUS_RESEARCH_DRAWS``, or private.
        base_url: Of the model's server. Not compared on resumption: the same model may be served
            elsewhere.
    """

    model_config = _STRICT

    max_steps: Annotated[int, Field(gt=0)] | None = None
    time_limit: _Amount | None = None
    cost_limit: _Amount | None = None
    backend: str | None = None
    egress: tuple[str, ...] = ()
    unlimited: bool = False
    draws: DrawKind | None = None
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
        limit = self.time_limit or MlgymSettings.read().env_timeout
        return self.model_copy(update={"time_limit": limit, "draws": draw_kind(self.draws)})

    @property
    def policy(self) -> dict[str, Any]:
        """Fields of the agent's sandbox's policy to set otherwise."""
        limits: dict[str, Any] = {"memory": None, "cpus": None} if self.unlimited else {}
        return {**limits, "egress": self.egress} if self.egress else limits


class TaskRow(BaseModel):
    """A task of a run.

    Attributes:
        task: Its id, or the path of its file.
        digest: Of everything that its scores depend on.
    """

    model_config = _STRICT

    task: str
    digest: str


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
            read_json(content.decode("utf-8"))
            return cls.model_validate_json(content)
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
