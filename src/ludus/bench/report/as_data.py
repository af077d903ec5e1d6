"""The figures of a report as JSON-ready data."""

from __future__ import annotations

from typing import Any

from ludus.bench.comparing.merging import MergedRuns
from ludus.bench.outcome import counted_score, normalised_score
from ludus.bench.result import Result
from ludus.bench.statistics.bootstrap import Estimate
from ludus.bench.statistics.passing import Passing, is_success, passing
from ludus.bench.statistics.summary import TaskSummary, summarise

__all__ = ["report_data"]


def report_data(runs: MergedRuns) -> dict[str, Any]:
    """Return the figures of each agent, on each task and over all, and a row per result.

    An estimate is ``{value, low, high, n}``, with ``null`` for what does not exist.
    """
    kept = [one for one in runs.results if one.verified != "failed"]
    summaries = summarise(kept, references=runs.references, lower=runs.lower, floors=runs.floors)
    solved = passing(kept, runs.references)
    agents: dict[str, Any] = {}
    for agent, summary in summaries.items():
        mine = solved.get(agent, Passing(agent, (), {}, {}))
        agents[agent] = {
            "iqm": _estimate(summary.iqm),
            "is_normalised": summary.normalised,
            "caveats": list(summary.caveats),
            **_passes(mine),
            "tasks": {
                task.env: {**_task(task), **_passes(mine.of(task.env))} for task in summary.tasks
            },
        }
    return {
        "runs": [{"name": one.name, "folder": str(one.path)} for one in runs.folders],
        "planned": runs.planned,
        "agents": agents,
        "results": [_row(one, runs) for one in runs.results],
    }


def _task(task: TaskSummary) -> dict[str, Any]:
    counts = task.counts
    return {
        "runs": counts.results,
        "counted": counts.used,
        "agent_faults": counts.agent_faults,
        "infrastructure_faults": counts.infrastructure_faults,
        "mean": _estimate(task.mean),
        "normalised": None if task.normalised is None else task.normalised.value,
    }


def _passes(found: Passing) -> dict[str, Any]:
    return {
        "solved": found.successes,
        "solved_verified": found.verified,
        "pass_at": {str(k): _estimate(one) for k, one in found.at.items()},
        "pass_every": {str(k): _estimate(one) for k, one in found.every.items()},
    }


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.n}


def _row(one: Result, runs: MergedRuns) -> dict[str, Any]:
    floor, scale = runs.floors.get(one.env), runs.references.get(one.env)
    normalised = one.extra.get("normalised")
    if scale is not None:
        normalised = normalised_score(
            one.outcome, one.score, zero=scale.worst, one=scale.best, floor=scale.floor
        )
    told = ("end", "validations", "working_seconds", "usage", "lives", "faults")
    return {
        "id": one.id,
        "run": one.run,
        "agent": one.agent,
        "env": one.env,
        "seed": one.seed,
        "outcome": one.outcome,
        "reason": one.reason,
        "verified": one.verified,
        "score": one.score,
        "counted": counted_score(one.outcome, one.score, floor=floor, lower=one.env in runs.lower),
        "normalised": normalised,
        "success": is_success(one, runs.references),
        "steps": one.steps,
        "seconds": one.seconds,
        "cost": one.cost,
        **{name: one.extra[name] for name in told if name in one.extra},
    }
