"""What a task's ``task.yaml`` says, typed.

MLGym's documented form is enough::

    id: my_task
    name: My task
    description: What is to be done.
    max_steps: 50
    timeout: 3600
    evaluation: {metric: accuracy, threshold: 0.7}
    resources: {memory: 8G, cpu: 2, gpu: 1}

Everything else is an addition. :func:`~ludus.research.task.config_file.parse_config` reads a file.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from ludus.research.task.reward import VERSION, Direction, Scale
from ludus.sandbox.egress.rules import parse_rules
from ludus.sandbox.image_names import check_image_name
from ludus.sandbox.policy import parse_size

__all__ = [
    "LOWER_IS_BETTER",
    "Artefact",
    "ArtefactKind",
    "Commands",
    "Evaluation",
    "Resources",
    "TaskConfig",
]

LOWER_IS_BETTER = frozenset(
    {
        "brier", "cross_entropy", "decisions", "error", "latency", "log_loss", "loss", "mae",
        "mape", "mse", "nll", "perplexity", "regret", "rmse", "rmsle", "runtime", "seconds", "time",
    }
)  # fmt: skip
"""Metrics whose direction is "lower" unless a task says otherwise; also as the last word of one."""

ArtefactKind = Literal["code", "csv", "npz", "safetensors", "onnx", "text", "json"]

_STRICT = ConfigDict(extra="forbid", frozen=True)
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Text = Annotated[str, Field(min_length=1, max_length=20_000)]
_Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0)]
_PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


class Evaluation(BaseModel):
    """How scores are interpreted.

    Attributes:
        metric: Name of the score.
        threshold: The score that counts as solved; 1 of the normalised score.
        direction: Whether higher or lower scores are better; by default as usual for the metric.
        baseline: The baseline solution's score; 0 of the normalised score.
        floor: The null submission's score; no submission counts as less.
        reference: The reference solution's score; rewards do not depend on it.
    """

    model_config = _STRICT
    _version: int = PrivateAttr(VERSION)

    metric: Annotated[str, Field(min_length=1, max_length=80)]
    threshold: _Number
    direction: Direction = "higher"
    baseline: _Number | None = None
    floor: _Number | None = None
    reference: _Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _usual_direction(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "direction" in data:
            return data
        words = re.split(r"[^a-z]+", str(data.get("metric", "")).lower())
        usual = {words[-1], "_".join(words)} & LOWER_IS_BETTER
        return {**data, "direction": "lower"} if usual else data

    @model_validator(mode="after")
    def _measurable(self) -> Evaluation:
        _ = self.scale
        return self

    @property
    def scale(self) -> Scale:
        """What scores are normalised with."""
        return Scale(self.threshold, self.baseline, self.floor, self.direction, self._version)

    def measured_by(self, version: int) -> Evaluation:
        """Return the same with another version of the scale, for records made with it."""
        other = self.model_copy()
        other._version = version
        return other


class Resources(BaseModel):
    """Limits of the agent's sandbox.

    Attributes:
        memory: Bytes, or a text such as ``8G``.
        cpu: Processors, fractions included.
        gpu: GPUs of the agent's sandbox, with podman or Docker; ``--gpus 0`` does without.
        submission_gpu: GPUs of the sandbox in which submitted code runs. The grader's has none.
        disk: Size of the workspace.
    """

    model_config = _STRICT

    memory: _Size = 2 << 30
    cpu: Annotated[float, Field(strict=True, gt=0, le=1024)] = 1.0
    gpu: Annotated[int, Field(strict=True, ge=0, le=64)] = 0
    submission_gpu: Annotated[int, Field(strict=True, ge=0, le=64)] = 0
    disk: _Size = 1 << 30


class Artefact(BaseModel):
    """A file that is copied out of the agent's sandbox to be graded.

    Attributes:
        path: Its path in the workspace.
        kind: How it is parsed; code runs in its own sandbox.
        max_bytes: Larger files are refused.
    """

    model_config = _STRICT

    path: Annotated[str, Field(min_length=1, max_length=255)]
    kind: ArtefactKind
    max_bytes: _Size = 16 << 20

    @field_validator("path")
    @classmethod
    def _inside(cls, value: str) -> str:
        path = PurePosixPath(value)
        if (
            path.is_absolute()
            or ".." in path.parts
            or str(path) != value
            or not value.isprintable()
        ):
            raise ValueError(
                "expected the path of a file below the workspace, such as 'model/a.py'"
            )
        return value


class Commands(BaseModel):
    """The commands that produce the artefacts of the two solutions, run in the workspace.

    Attributes:
        baseline: Run after the folder ``baseline`` was laid over the workspace.
        reference: Run after the folder ``reference`` was laid over it.
    """

    model_config = _STRICT

    baseline: _Text | None = None
    reference: _Text | None = None


class TaskConfig(BaseModel):
    """A task, as its file describes it.

    Attributes:
        id: Its environment is ``mlgym/<id>-v0``.
        name: For people.
        description: What the agent is told.
        max_steps: Actions in an episode.
        timeout: Seconds for one long command.
        evaluation: How scores are interpreted.
        resources: Limits of the agent's sandbox.
        submission: Everything that is copied out of the agent's sandbox and graded.
        validations: How many are allowed; all are counted. Without it any number is.
        run: The commands of the two solutions.
        packages: Modules that can be imported in the sandboxes.
        image: Container image that is the root of the agent's and of the submission's sandbox, with
            podman or Docker: ``name:tag``, ``name@sha256:…`` or an id ``sha256:…``. It needs bash,
            Python 3.11 or later, and the packages. The grader has those of this machine.
        egress: Hosts that the agent's sandbox may reach, such as ``pypi.org:443``; none by default.
            Private addresses are for the operator to allow.
        answers: Columns of the label files that must stay secret; by default all but identifiers.
        hidden: What sandboxes with the agent or its code must not show: paths such as
            ``/usr/share/datasets``, or ``module:path`` for files of an installed package. The tasks
            themselves are always hidden.
        code_beside_tests: Whether submitted code runs beside the grader and could forge scores.
            Results of such tasks are never verified.
        verbose: Whether each episode has a log file.
    """

    model_config = _STRICT

    id: str
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: _Text
    max_steps: Annotated[int, Field(strict=True, gt=0, le=1_000_000)] = 50
    timeout: Annotated[float, Field(strict=True, gt=0, le=604_800)] = 1800.0
    evaluation: Evaluation
    resources: Resources = Resources()
    submission: tuple[Artefact, ...] = ()
    validations: Annotated[int, Field(strict=True, ge=0)] | None = None
    run: Commands = Commands()
    packages: tuple[str, ...] = ()
    image: str | None = None
    egress: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    code_beside_tests: Annotated[bool, Field(strict=True)] = False
    verbose: Annotated[bool, Field(strict=True)] = False

    @field_validator("id")
    @classmethod
    def _named(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}", value):
            raise ValueError("expected letters, digits and _ . - only, such as 'battleOfSexes'")
        if re.search(r"-v\d+$", value):
            raise ValueError("leave out the version; '-v0' is added in the environment's id")
        return value

    @field_validator("submission")
    @classmethod
    def _apart(cls, value: tuple[Artefact, ...]) -> tuple[Artefact, ...]:
        paths = [artefact.path for artefact in value]
        twice = sorted({path for path in paths if paths.count(path) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is listed twice")
        for path in paths:
            inside = [other for other in paths if other.startswith(f"{path}/")]
            if inside:
                raise ValueError(f"{path!r} cannot be a file while {inside[0]!r} lies in it")
        return value

    @field_validator("packages")
    @classmethod
    def _importable_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _PACKAGE.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no name that can be imported; give names as in 'import sklearn', "
                    "without versions"
                )
        return value

    @field_validator("image")
    @classmethod
    def _image_name(cls, value: str | None) -> str | None:
        return None if value is None else check_image_name(value)

    @field_validator("egress")
    @classmethod
    def _public_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for rule in parse_rules(value):
            if not rule.is_public:
                raise ValueError(
                    f"'{rule}' is no public address; who runs the task may allow it with --egress"
                )
        return value

    @field_validator("hidden")
    @classmethod
    def _places(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for place in value:
            module, _, rest = place.rpartition(":")
            inside = PurePosixPath("/", rest).parts[1:]
            named = _PACKAGE.fullmatch(module) if module else place.startswith("/")
            if not named or not inside or ".." in inside:
                raise ValueError(
                    f"{place!r} is no place; expected '/an/absolute/path' or 'module:path/in/it'"
                )
        return value

    @property
    def env_id(self) -> str:
        """The id that ``ludus.make`` takes."""
        return f"mlgym/{self.id}-v0"
