"""A task: its folder, what its file says, and the interface that a class of its own may change."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar

from ludus.bench.result import OutcomeKind
from ludus.errors import ResearchError
from ludus.research.task.config import Artefact, TaskConfig
from ludus.research.task.reward import RewardTotals, Scale

__all__ = ["ActionResult", "BaseTask", "Task", "accepts", "reward_of"]

_IGNORED = ("__pycache__", ".git")


@dataclass(frozen=True, slots=True)
class Task:
    """A task's folder and the contents of its file.

    Attributes:
        config: The contents of the file.
        file: The file: ``task.yaml``, or ``name.yaml`` among others.
        folder: The folder of ``task.yaml``, or the one beside ``name.yaml`` that is called
            ``name``. A task of which only a file exists has none of its parts.
        task_class: The class that was registered for it, or its ``"module:name"``.
        source: What is hashed in place of the file, for a task that has none.
        grades_itself: Whether its score is the sum of the rewards that its class gave.
        base: The task that it extends: whose fields and files it has, unless it has its own.
    """

    config: TaskConfig
    file: Path
    folder: Path
    task_class: str | Callable[..., BaseTask] | None = None
    source: bytes | None = None
    grades_itself: bool = False
    base: Task | None = None

    @property
    def id(self) -> str:
        """How to ask for it."""
        return self.config.id

    @property
    def env_id(self) -> str:
        """The id that ``ludus.make`` takes."""
        return self.config.env_id

    @property
    def scale(self) -> Scale:
        """What scores are normalised with."""
        return self.config.evaluation.scale

    @property
    def workspace(self) -> Path:
        """What the agent sees; laid over the workspace of its base."""
        return self.part("workspace")

    @property
    def grader(self) -> Path:
        """The folder of ``grade.py``; never in the agent's sandbox."""
        return self.part("grader")

    @property
    def has_grader(self) -> bool:
        """Whether it has a grader of its own; others are graded by their metric's name."""
        return self.grader.is_dir()

    @property
    def submission(self) -> tuple[Artefact, ...]:
        """The files that are handed in; without a grader ``submission.csv``, unless declared."""
        declared = self.config.submission
        if declared or self.grades_itself or self.has_grader:
            return declared
        return (Artefact(path="submission.csv", kind="csv"),)

    @property
    def baseline(self) -> Path:
        """The baseline solution: files that are laid over the workspace."""
        return self.part("baseline")

    @property
    def reference(self) -> Path:
        """The reference solution, in the same form; never in the agent's sandbox."""
        return self.part("reference")

    @property
    def data_program(self) -> Path:
        """``data.py``, which writes the data; there may be none."""
        return self.part("data.py")

    def part(self, name: str) -> Path:
        """Return the path of a file or folder of the task: its own, else its base's."""
        own = self.folder / name
        return own if self.base is None or own.exists() else self.base.part(name)

    def layers(self, name: str) -> tuple[Path, ...]:
        """Return the folders that are laid over each other to make a part, its base's first."""
        below = () if self.base is None else self.base.layers(name)
        own = self.folder / name
        return (*below, own) if own.is_dir() else below

    def measured_by(self, version: int) -> Task:
        """Return the same task with another version of the scale of rewards."""
        evaluation = self.config.evaluation.measured_by(version)
        return replace(self, config=self.config.model_copy(update={"evaluation": evaluation}))

    def digest(self) -> str:
        """Return the SHA-256 of all that scores depend on: file, folder and base."""
        own = self.file.read_bytes() if self.source is None else self.source
        total = hashlib.sha256(own)
        found = sorted(self.folder.rglob("*")) if self.folder.is_dir() else []
        for path in found:
            inside = path.relative_to(self.folder)
            if path.is_file() and path != self.file and not set(inside.parts) & set(_IGNORED):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                total.update(f"{inside.as_posix()}\0{content}\n".encode())
        if self.base is not None:
            total.update(self.base.digest().encode())
        return total.hexdigest()


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of one action.

    Attributes:
        action: The action.
        observation: What the agent sees after it.
        outcome: Of the grading, if the action caused one.
        score: The score, if it was scored.
        final: Whether it was the test split, which ends the episode.
        info: What the environment adds.
    """

    action: Any
    observation: Any
    outcome: OutcomeKind | None = None
    score: float | None = None
    final: bool = False
    info: Mapping[str, Any] | None = None


class BaseTask:
    """What a task decides itself; every method has a default that suits most.

    The environment sets ``execute``, calls :meth:`reset`, and then :meth:`step` for each action.
    All of this runs outside the sandboxes.
    """

    files: ClassVar[str | None] = None
    """Id of a task whose files are used by one that is registered without files of its own."""

    execute: Callable[[Any], ActionResult] | None = None
    """Executes an action in the agent's sandbox, and the grading it asks for."""

    def __init__(self, config: TaskConfig) -> None:
        self.config = config
        self.history: list[ActionResult] = []

    def reset(self, seed: int | None = None) -> Any:
        """Begin an episode; return the first observation, or ``None`` for the environment's.

        A subclass may define it without ``seed``.
        See :func:`~ludus.research.episode.own_observation.merged` for what an observation may be.
        """
        self.history = []
        return None

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Execute an action and return observation, reward, whether the episode is over, and info.

        Only the observation is for the agent; at the end reward and info reveal the test. A
        subclass need not call this method; it may do without the sandbox altogether.

        Raises:
            ResearchError: No environment has set ``execute``.
        """
        if self.execute is None:
            raise ResearchError(
                f"Task {self.config.id} does nothing by itself: there is no sandbox to act in. Use "
                f"ludus.make({self.config.env_id!r}), or set task.execute to a function that "
                "takes an action and returns an ActionResult."
            )
        result = self.execute(action)
        self.history.append(result)
        reward = reward_of(self, self.history)
        return result.observation, reward, self.is_done(), dict(result.info or {})

    def get_reward(self, history: Sequence[ActionResult]) -> float:
        """Return the reward of the last result; see :mod:`ludus.research.task.reward`.

        A subclass may define it with ``history``, or with ``action, result``, the last ones. An
        infrastructure fault is worth 0.
        """
        scale = self.config.evaluation.scale
        before = reduce(
            lambda ledger, result: _settle(scale, ledger, result)[1], history[:-1], RewardTotals()
        )
        return _settle(scale, before, history[-1])[0]

    def is_done(self) -> bool:
        """Whether the episode is over: the submission was graded, or could not be."""
        return bool(self.history) and self.history[-1].final


def reward_of(task: BaseTask, history: Sequence[ActionResult]) -> float:
    """Return what a task's ``get_reward`` says of the last result, whichever form it has."""
    get_reward: Callable[..., float] = task.get_reward
    if accepts(get_reward, None, None):
        return float(get_reward(history[-1].action, history[-1]))
    return float(get_reward(history))


def accepts(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function can be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


def _settle(scale: Scale, ledger: RewardTotals, result: ActionResult) -> tuple[float, RewardTotals]:
    if result.outcome is None or (result.outcome == "agent_fault" and not result.final):
        return 0.0, ledger
    u = scale.normalised(result.outcome, result.score)
    if u is None:
        return 0.0, ledger
    return ledger.settled(u) if result.final else ledger.improved(u)
