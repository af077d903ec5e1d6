"""Output of ``ludus task run``."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from ludus.research.running.solving import Solved
from ludus.terminal_text import printable

__all__ = ["solved_json", "solved_table"]


def solved_table(found: Solved, seed: int) -> Table:
    """Return the outcome of a solution as a table."""
    scores = found.task.config.evaluation
    scale = found.task.scale
    rows: list[tuple[str, str]] = [
        ("task", f"{found.task.id}, seed {seed}"),
        ("solution", found.solution),
        ("outcome", found.outcome.replace("_", " ")),
    ]
    counted = scale.counted(found.outcome, found.score)
    if counted is not None:
        floor = "" if counted == found.score else " (floor)"
        rows.append((f"{scores.metric} (test)", f"{counted:.6g}{floor}"))
    if found.validation is not None:
        rows.append((f"{scores.metric} (validation)", f"{found.validation:.6g}"))
    if found.normalised is not None:
        rows.append(("normalised", f"{found.normalised:.4f}"))
    baseline = "unknown" if scale.baseline is None else f"{scale.baseline:g}"
    rows += [
        ("baseline … threshold", f"{baseline} … {scale.threshold:g}, {scale.direction} is better"),
        ("seconds", f"{found.run_seconds:.1f} to run, {found.grade_seconds:.1f} to grade"),
    ]
    table = Table(show_header=False)
    for name, value in rows:
        table.add_row(name, Text(printable(value)))
    return table


def solved_json(found: Solved, seed: int) -> dict[str, Any]:
    """Return the outcome of a solution as JSON-ready data."""
    return {
        "task": found.task.id,
        "seed": seed,
        "solution": found.solution,
        "outcome": found.outcome,
        "metric": found.task.config.evaluation.metric,
        "score": found.score,
        "counted": found.task.scale.counted(found.outcome, found.score),
        "normalised": found.normalised,
        "validation": found.validation,
        "reason": found.reason,
        "details": dict(found.details),
        "exit_code": found.exit_code,
        "run_seconds": found.run_seconds,
        "grade_seconds": found.grade_seconds,
    }
