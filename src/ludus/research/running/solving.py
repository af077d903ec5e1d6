"""Runs a solution of a task in a sandbox, without an agent, and grades it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.bench.result import OutcomeKind
from ludus.errors import ResearchError
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.env import ResearchEnv
from ludus.research.grading.draws import DrawKind
from ludus.research.task.discovery import load_task
from ludus.research.task.task import Task

__all__ = ["Solved", "solve"]

_HOME = "/workspace"
_SOLUTIONS = ("baseline", "reference")


@dataclass(frozen=True, slots=True)
class Solved:
    """The result of a solution.

    Attributes:
        task: The task.
        solution: ``"null"``, ``"baseline"``, ``"reference"``, or a folder.
        outcome: ``"scored"``, or whose fault it is that it was not.
        score: On the test split.
        normalised: 0 is the baseline's, 1 the threshold.
        validation: On the validation split, if it was asked for.
        reason: Why there is no score.
        details: Further results of the grader.
        exit_code: Of the solution's command; ``None`` if there is none.
        output: Of the command.
        files: The files that were graded, by their paths.
        run_seconds: Time of the command.
        grade_seconds: Time of all gradings.
    """

    task: Task
    solution: str
    outcome: OutcomeKind
    score: float | None
    normalised: float | None
    validation: float | None
    reason: str
    details: Mapping[str, Any]
    exit_code: int | None
    output: str
    files: Mapping[str, bytes]
    run_seconds: float
    grade_seconds: float


def solve(
    task: str | Path | Task,
    solution: str | Path = "baseline",
    *,
    command: str | None = None,
    seed: int = 0,
    validate: bool = False,
    backend: str | None = None,
    unlimited: bool = False,
    draws: DrawKind | None = None,
    gpus: int | None = None,
    without_image: bool = False,
    verbose: bool | None = None,
) -> Solved:
    """Copy a solution over the workspace of a task, run its command, and grade the result.

    Args:
        task: Its id or path.
        solution: ``"baseline"``, ``"reference"``, ``"null"`` for the null submission, or a folder
            of files.
        command: What to run; by default the task's command for the solution, nothing for a folder.
        seed: Of splits and data.
        validate: Grade on the validation split too.
        backend: Of the sandboxes.
        unlimited: Do not limit memory and processors.
        draws: See :class:`~ludus.research.ResearchEnv`.
        gpus: Likewise.
        without_image: Likewise.
        verbose: Likewise.

    Raises:
        DataMissing: The task's data has to be fetched first.
        ImageMissing: The task's image is not on this machine.
        ResearchError: There is no such task or solution.
        SandboxError: No such sandbox can be opened here.
    """
    loaded = load_task(task)
    policy = {"memory": None, "cpus": None} if unlimited else {}
    # A command, a validation and the end are not the agent's steps.
    steps = max(loaded.config.max_steps, 4)
    how: dict[str, Any] = {"backend": backend, "policy": policy, "draws": draws}
    how |= {"gpus": gpus, "without_image": without_image, "verbose": verbose}
    files = _solution(loaded, solution, command, seed)
    with files as (folder, command), ResearchEnv(loaded, max_steps=steps, **how) as env:
        env.reset(seed=seed)
        env.sandbox.put(folder, _HOME)
        info, found = _run_and_grade(env, command, validate=validate)
    return Solved(
        task=loaded,
        solution=str(solution),
        outcome=info["outcome"],
        score=info["score"],
        normalised=info["normalised_score"],
        reason=info["reason"],
        details=(info["final"] or {}).get("details", {}),
        **found,
    )


def _run_and_grade(
    env: ResearchEnv, command: str | None, *, validate: bool
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the last step's info, and the fields of the result that only the steps show."""
    found: dict[str, Any] = {"exit_code": None, "output": "", "run_seconds": 0.0}
    info: Mapping[str, Any] = {"outcome": "running"}
    if command is not None:
        observation, *_, info = env.step(command)
        found["exit_code"] = int(observation["exit_code"])
        found["output"] = observation["output"]
        found["run_seconds"] = info["command_seconds"]
    began = time.monotonic()
    found["validation"] = None
    if validate and info["outcome"] == "running":
        *_, info = env.step({"tool": "validate", "arguments": {}})
        found["validation"] = (info["validation"] or {}).get("score")
    if info["outcome"] == "running":
        *_, info = env.finish("solution")
    found["grade_seconds"] = time.monotonic() - began
    found["files"] = dict(env.artefacts)
    return info, found


@contextmanager
def _solution(
    task: Task, solution: str | Path, command: str | None, seed: int
) -> Iterator[tuple[Path, str | None]]:
    """Yield the files and the command of a solution."""
    if solution == "null":
        with tempfile.TemporaryDirectory(prefix="ludus-null-") as place:
            _write_null(task, seed, Path(place))
            yield Path(place), command
        return
    if solution in _SOLUTIONS:
        folder = task.baseline if solution == "baseline" else task.reference
        own = task.config.run.baseline if solution == "baseline" else task.config.run.reference
        missing = f"Task {task.id} has no {solution} solution: there is no folder {folder}."
    else:
        folder, own = Path(solution), None
        missing = (
            f"There is no folder {folder}. A solution is 'baseline', 'reference', 'null', or a "
            "folder of files that are laid over the workspace."
        )
    if not folder.is_dir():
        raise ResearchError(missing)
    yield folder, own if command is None else command


def _write_null(task: Task, seed: int, folder: Path) -> None:
    known = CachedTask.of(task).known_good(seed)
    if known is None:
        raise ResearchError(
            f"Task {task.id} has no null submission. Add null.py with null_submission(workspace), "
            "which returns the submitted files by path; neither workspace nor baseline holds them."
        )
    for path, data in known.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
