"""Tables that ``ludus research`` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ludus.bench.outcome import counted_score, normalised_score
from ludus.bench.planning.suite import Suite
from ludus.bench.result import Result
from ludus.bench.running.runner import BenchRun
from ludus.bench.statistics import Counts, Estimate, number, summarise
from ludus.bench.statistics.aup import research_aup
from ludus.terminal_text import printable

__all__ = ["aup_lines", "episodes_table", "scores_table"]

NOTHING = "–"


def scores_table(done: BenchRun) -> Table:
    """Return scores by task and agent, each with its denominator.

    As in reports and on leaderboards, a result whose verification failed counts nowhere.
    """
    suite = done.suite
    kept = [one for one in done.results if one.verified != "failed"]
    summaries = summarise(kept, references=suite.references, lower=suite.lower, floors=suite.floors)
    columns = ("task", "agent", "mean", "95 % interval", "scaled", "best", "n", "faults")
    table = _table("Scores on the test split", *columns)
    for env in sorted({one.env for one in kept}):
        for agent, summary in summaries.items():
            mine = [one for one in kept if (one.env, one.agent) == (env, agent)]
            for task in (task for task in summary.tasks if task.env == env):
                counts = task.counts
                found = [_normalised(one, suite) for one in mine]
                table.add_row(
                    Text(_task(env)),
                    Text(printable(agent)),
                    *_estimate(task.mean),
                    _mean([one for one in found if one is not None]),
                    _best([_counted(one, suite) for one in mine], higher=env not in suite.lower),
                    f"{counts.used}/{counts.results}",
                    _faults(counts),
                )
    return table


def episodes_table(results: Sequence[Result], suite: Suite) -> Table:
    """Return one row for each episode; a score that is the task's floor is marked."""
    table = _table(
        f"{len(results)} episodes (* the floor: faults count as it, and so do worse scores)",
        "task", "agent", "seed", "score", "scaled", "end", "steps", "val", "sec",
    )  # fmt: skip
    if anew := sum(one.lives > 1 for one in results):
        table.caption = f"{anew} of them began anew after a fault; what they had used counts on"
    for one in results:
        normalised = _normalised(one, suite)
        end = printable(str(one.extra.get("end", NOTHING)))
        table.add_row(
            Text(_task(one.env)),
            Text(printable(one.agent)),
            str(one.seed),
            _score(one, suite),
            NOTHING if normalised is None else f"{normalised:.3f}",
            Text(end if one.outcome == "scored" else one.outcome.replace("_", " ")),
            str(one.steps),
            Text(printable(str(one.extra.get("validations", NOTHING)))),
            f"{one.seconds:.1f}",
        )
    return table


def aup_lines(done: BenchRun) -> list[str]:
    """Return AUP of agents and baseline in words, best attempt and best submission."""
    suite = done.suite
    kept = [one for one in done.results if one.verified != "failed"]
    found = research_aup(kept, references=suite.references, lower=suite.lower)
    if found is None:
        return ["There is no AUP: no score is positive and as good as the baseline's."]
    attempt, submission = found.attempt, found.submission
    order = sorted(submission.values, key=lambda name: (name == submission.baseline, name))
    lines = [
        f"AUP of {printable(name)}: attempt {attempt.values.get(name, 0.0):.3f}, "
        f"submission {submission.values[name]:.3f}"
        for name in order
    ]
    return [*lines, *(f"note: {printable(one, 1000)}" for one in found.caveats)]


def _counted(one: Result, suite: Suite) -> float | None:
    floor, lower = suite.floors.get(one.env), one.env in suite.lower
    return counted_score(one.outcome, one.score, floor=floor, lower=lower)


def _score(one: Result, suite: Suite) -> str:
    counted = _counted(one, suite)
    if counted is None:
        return NOTHING if one.outcome == "infrastructure_fault" else "no score"
    return f"{counted:.6g}" if counted == one.score else f"{counted:.6g}*"


def _normalised(one: Result, suite: Suite) -> float | None:
    """Return u of an episode; a task without a baseline has no scale but solved or not."""
    scale = suite.references.get(one.env)
    if scale is not None:
        return normalised_score(
            one.outcome, one.score, zero=scale.worst, one=scale.best, floor=scale.floor
        )
    if one.outcome != "scored":
        return None if one.outcome == "infrastructure_fault" else 0.0
    told = one.extra.get("normalised")
    return float(told == 1.0) if isinstance(told, float) else None


def _faults(counts: Counts) -> str:
    kinds = {"agent": counts.agent_faults, "infra": counts.infrastructure_faults}
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count) or "0"


def _task(env: str) -> str:
    return env.removeprefix("mlgym/").removesuffix("-v0")


def _estimate(found: Estimate | None) -> tuple[str, str]:
    if found is None:
        return NOTHING, NOTHING
    ends = found.interval
    return number(found.value), NOTHING if ends is None else " … ".join(map(number, ends))


def _mean(values: list[float]) -> str:
    return f"{math.fsum(values) / len(values):.3f}" if values else NOTHING


def _best(counted: list[float | None], *, higher: bool) -> str:
    scores = [one for one in counted if one is not None]
    return number((max if higher else min)(scores)) if scores else NOTHING


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for column in columns:
        is_text = column in ("task", "agent", "end", "faults")
        table.add_column(
            column,
            overflow="fold",
            no_wrap=column not in ("task", "agent"),
            justify="left" if is_text else "right",
        )
    return table
