"""Runs the solutions of a task, and compares their scores with what its file declares.

The null submission, the baseline and the reference are run and graded as an agent's work would be,
with public draws, so that whoever repeats it gets the same score. Their files are then graded again
with fresh draws. A declared score may differ from the measured one by a share of the way from
baseline to threshold, and by what the draws make of it.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import stdev
from typing import Any

from ludus.atomic import write_whole
from ludus.errors import DataMissing, TaskError
from ludus.findings import Finding
from ludus.plain_yaml import YamlError, with_numbers
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.agent_sandbox import agent_policy
from ludus.research.episode.assessment import graded_in_sandboxes
from ludus.research.episode.equipment import find_equipment
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.draws import fresh_draw
from ludus.research.linting.check import file_of
from ludus.research.linting.rules import finding
from ludus.research.running.solving import solve
from ludus.research.task.config_file import line_of, parse_config
from ludus.research.task.discovery import load_task, read_text
from ludus.research.task.outcome import Outcome
from ludus.research.task.reward import Scale
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task
from ludus.terminal_text import excerpt

__all__ = ["FIELDS", "MeasuredSolution", "Measurement", "measure_task"]

FIELDS = {"null": "floor", "baseline": "baseline", "reference": "reference"}
"""The field of ``evaluation`` that declares the score of each solution."""

FRESH = 3
"""Gradings with fresh draws."""
SLACK, DEVIATIONS = 0.02, 4.0
"""How far a declared score may be off: a share of the way, and standard deviations of the draws."""

_DIGITS = 6
_LONGEST = 600
_FRAME = re.compile(r'File "(?:/[^"]*/)?([\w.-]+\.py)", line (\d+)')


@dataclass(frozen=True, slots=True)
class MeasuredSolution:
    """The scores of one solution on the test split.

    Attributes:
        solution: ``"null"``, ``"baseline"`` or ``"reference"``.
        score: With public draws; ``None`` if there is none.
        fresh: With fresh draws.
        declared: In the task's file.
        tolerance: How far the declared score may be off.
        seconds: Time of running and grading it once.
        problem: Why there is no score, or what else is wrong.
        place: The file and line that the problem is about.
    """

    solution: str
    score: float | None = None
    fresh: tuple[float, ...] = ()
    declared: float | None = None
    tolerance: float = 0.0
    seconds: float = 0.0
    problem: str = ""
    place: tuple[str, int] = ("", 0)

    @property
    def agrees(self) -> bool | None:
        """Whether the declared score is right; ``None`` if there is nothing to compare."""
        if self.score is None or self.declared is None:
            return None
        return abs(self.declared - self.score) <= self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "solution": self.solution,
            "score": self.score,
            "fresh": list(self.fresh),
            "declared": self.declared,
            "tolerance": self.tolerance,
            "agrees": self.agrees,
            "seconds": round(self.seconds, 2),
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """The scores of a task's solutions, and what is wrong with them.

    Attributes:
        solutions: In the order null, baseline, reference; those that the task has.
        findings: Of the linter's rules.
    """

    solutions: tuple[MeasuredSolution, ...]
    findings: tuple[Finding, ...]


def measure_task(
    id_or_path: str | Path,
    *,
    seed: int = 0,
    fresh: int = FRESH,
    backend: str | None = None,
    unlimited: bool = False,
    write: bool = False,
) -> Measurement:
    """Run a task's solutions in sandboxes and compare their scores with the declared ones.

    Args:
        id_or_path: The task's id, or the path of its folder or file.
        seed: Of its data.
        fresh: How often each is graded again with other draws.
        backend: Of the sandboxes.
        unlimited: Do not limit memory and processors.
        write: Write the measured scores into the task's file, where all else stays as it is.

    Raises:
        TaskError: There is no such task, or its file cannot take the scores.
        SandboxError: No such sandbox can be opened here.
        OSError: The file cannot be written.
    """
    task = load_task(file_of(id_or_path))
    if task.grades_itself:
        return Measurement((), ())
    try:
        workspace = CachedTask.of(task).prepared(seed).workspace
    except (DataMissing, TaskError) as problem:
        rule = "data-missing" if isinstance(problem, DataMissing) else "data-failed"
        return Measurement((), (finding(rule, "data.py", message=str(problem)),))
    measured = [
        _measure(task, name, seed, fresh, backend, unlimited)
        for name in FIELDS
        if _is_there(task, name, workspace)
    ]
    if write:
        _write(task, measured)
        task = load_task(task.file)
    text, scale = read_text(task.file), task.scale
    compared = tuple(_compared(row, task, scale) for row in measured)
    return Measurement(compared, tuple(_findings(task.file.name, text, compared, scale)))


def _is_there(task: Task, name: str, workspace: Path) -> bool:
    """Whether a task has a solution; the linter's other rules tell if it should."""
    if name != "null":
        return getattr(task, name).is_dir() and getattr(task.config.run, name) is not None
    if (task.folder / "null.py").is_file():
        return True
    paths = [item.path for item in task.submission]
    places = (workspace, task.baseline)
    return bool(paths) and all(any((at / path).is_file() for at in places) for path in paths)


def _measure(
    task: Task, name: str, seed: int, fresh: int, backend: str | None, unlimited: bool
) -> MeasuredSolution:
    row = MeasuredSolution(name)
    began = time.monotonic()
    try:
        solved = solve(task, name, seed=seed, backend=backend, unlimited=unlimited, draws="public")
    except TaskError as problem:  # of null.py
        return replace(row, problem=excerpt(str(problem), _LONGEST), place=_place(problem))
    row = replace(row, seconds=time.monotonic() - began)
    if solved.exit_code:
        told = excerpt(solved.output.strip(), _LONGEST, tail=True)
        detail = f"Its command ended with exit code {solved.exit_code}: {told}"
        row = replace(row, problem=detail, place=_frame(solved.output, task.folder / name))
    if solved.outcome != "scored":
        reason = excerpt(solved.reason.strip(), _LONGEST, tail=True)
        detail = row.problem or f"It is not scored ({_whose(solved.outcome)}): {reason}"
        in_grader = _frame(solved.reason, task.grader)
        return replace(row, problem=detail, place=row.place if row.problem else in_grader)
    row = replace(row, score=solved.score)
    limits = {"memory": None, "cpus": None} if unlimited else {}
    gpus = MlgymSettings.read().gpus
    found = find_equipment(task, backend=backend, gpus=gpus, to_grade=True)
    equipment = found.examined(task, limits)
    policy = agent_policy(task, limits, equipment)
    grade, cached = graded_in_sandboxes(policy, equipment), CachedTask.of(task)
    for _ in range(fresh):
        made = grade(cached, Artefacts(solved.files), "test", seed, draw=fresh_draw())
        row = _with_fresh(row, made)
    return row


def _with_fresh(row: MeasuredSolution, made: Outcome) -> MeasuredSolution:
    if made.score is not None:
        return replace(row, fresh=(*row.fresh, made.score))
    detail = f"With other draws it is not scored: {excerpt(made.reason, _LONGEST)}"
    return replace(row, problem=row.problem or detail)


def _whose(outcome: str) -> str:
    return outcome.replace("_", " ")


def _frame(text: str, folder: Path) -> tuple[str, int]:
    """Return the last place in a traceback that lies in a folder of the task."""
    for name, line in reversed(_FRAME.findall(text)):
        if (folder / name).is_file():
            return f"{folder.name}/{name}", int(line)
    return "", 0


def _place(problem: TaskError) -> tuple[str, int]:
    frames = traceback.extract_tb(getattr(problem.__cause__, "__traceback__", None))
    own = [frame.lineno for frame in frames if Path(frame.filename).name == "null.py"]
    return "null.py", own[-1] or 0 if own else 0


def _compared(row: MeasuredSolution, task: Task, scale: Scale) -> MeasuredSolution:
    """Return a row with the declared score and its tolerance."""
    declared = getattr(task.config.evaluation, FIELDS[row.solution])
    zero = 0.0 if scale.baseline is None else scale.baseline
    scores = [score for score in (row.score, *row.fresh) if score is not None]
    spread = stdev(scores) if len(scores) > 1 else 0.0
    tolerance = SLACK * abs(scale.threshold - zero) + DEVIATIONS * spread
    return replace(row, declared=declared, tolerance=tolerance)


def _findings(
    file: str, text: str, rows: tuple[MeasuredSolution, ...], scale: Scale
) -> Iterator[Finding]:
    scores: dict[str, float] = {}
    for row in rows:
        part = "submission" if row.solution == "null" else "run"
        if row.problem:
            name, line = row.place
            place = (name, line) if name else (file, line_of(text, part, row.solution))
            detail = f"The {row.solution} solution: {row.problem}"
            yield finding("solution-failed", *place, detail)
        if row.score is None:
            continue
        scores[row.solution] = row.score
        field = FIELDS[row.solution]
        if row.agrees is False:
            detail = (
                f"evaluation.{field} is {row.declared:g}, but the {row.solution} solution scores "
                f"{row.score:.{_DIGITS}g} (tolerance {row.tolerance:.2g})."
            )
            yield finding("wrong-score", file, line_of(text, "evaluation", field), detail)
    for worse, better in (("null", "baseline"), ("baseline", "reference")):
        if {worse, better} <= scores.keys() and scale.better(scores[worse], scores[better]):
            detail = (
                f"The {worse} solution scores {scores[worse]:.{_DIGITS}g}, which is better than "
                f"the {better} solution's {scores[better]:.{_DIGITS}g}."
            )
            yield finding("score-order", file, line_of(text, "evaluation"), detail)


def _write(task: Task, rows: list[MeasuredSolution]) -> None:
    """Write the scores into a task's file.

    Raises:
        TaskError: They are no valid scale together, or the file cannot be changed.
    """
    found: Mapping[str, float] = {
        FIELDS[row.solution]: float(f"{row.score:.{_DIGITS}g}")
        for row in rows
        if row.score is not None
    }
    if not found:
        return
    try:
        changed = with_numbers(read_text(task.file), ("evaluation",), found)
        parse_config(changed, str(task.file))
    except (TaskError, YamlError) as problem:
        raise TaskError(
            f"The measured scores were not written: {problem}. {task.file} is as it was."
        ) from problem
    write_whole(task.file, changed.encode(), mode=task.file.stat().st_mode & 0o777)
