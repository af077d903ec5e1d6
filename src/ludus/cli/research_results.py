"""Output of ``ludus research``: tables of episodes, scores and pass@k, and the summary of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from rich.table import Table
from rich.text import Text

from ludus.bench.outcome import counted_score, normalised_score
from ludus.bench.planning.suite import Suite
from ludus.bench.result import Result
from ludus.bench.running.runner import BenchRun
from ludus.bench.statistics import Counts, Estimate, number, summarise
from ludus.bench.statistics.aup import research_aup
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.passing import passing
from ludus.cli.console import NOTHING, err, make_table, out, print_line
from ludus.cli.results import end_run, estimate_cells, print_counts
from ludus.terminal_text import printable

__all__ = ["aup_lines", "conclude_research", "episodes_table", "pass_table", "scores_table"]


def scores_table(done: BenchRun) -> Table:
    """Return the scores by task and agent, with the number of results.

    As in reports and on leaderboards, results whose verification failed are left out.
    """
    suite = done.suite
    kept = [one for one in done.results if one.verified != "failed"]
    summaries = summarise(kept, references=suite.references, lower=suite.lower, floors=suite.floors)
    columns = ("task", "agent", "mean", "95 % interval", "scaled", "best", "n", "faults")
    table = _research_table("Scores on the test split", *columns)
    for env in sorted({one.env for one in kept}):
        for agent, summary in summaries.items():
            mine = [one for one in kept if (one.env, one.agent) == (env, agent)]
            for task in (task for task in summary.tasks if task.env == env):
                counts = task.counts
                found = [_normalised(one, suite) for one in mine]
                table.add_row(
                    Text(_task(env)),
                    Text(printable(agent)),
                    *estimate_cells(task.mean),
                    _mean([one for one in found if one is not None]),
                    _best([_counted(one, suite) for one in mine], higher=env not in suite.lower),
                    f"{counts.used}/{counts.results}",
                    _faults(counts),
                )
    return table


def episodes_table(results: Sequence[Result], suite: Suite) -> Table:
    """Return a table with a row per episode; a score at the task's floor is marked."""
    table = _research_table(
        f"{len(results)} episodes (* the floor: faults count as it, and so do worse scores)",
        "task", "agent", "seed", "score", "scaled", "end", "steps", "val", "sec",
    )  # fmt: skip
    if restarted := sum(one.lives > 1 for one in results):
        table.caption = f"{restarted} of them were restarted after a fault; earlier usage counts"
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


def pass_table(results: Iterable[Result], references: Mapping[str, Reference]) -> Table | None:
    """Return pass@k and pass^k by agent and task, ``None`` if no task has a threshold.

    Shown are 1 and the largest k; ``--json`` and reports have those between.
    """
    found = passing(results, references)
    if not found:
        return None
    most = max((k for one in found.values() for k in one.at), default=1)
    columns = ["task", "agent", "solved", "pass@1"]
    columns += [f"pass@{most}", f"pass^{most}"] if most > 1 else []
    table = _research_table("Runs that reach the threshold, with 95 % intervals", *columns)
    for agent, mine in found.items():
        whole = [("all tasks", mine)] if len(mine.tasks) > 1 else []
        for task, one in [*((_task(row.env), mine.of(row.env)) for row in mine.tasks), *whole]:
            figures = [one.at.get(1)]
            figures += [one.at.get(most), one.every.get(most)] if most > 1 else []
            table.add_row(
                Text(task),
                Text(printable(agent)),
                f"{one.successes}/{one.runs}",
                *map(_chance, figures),
            )
    return table


def _chance(found: Estimate | None) -> str:
    if found is None:
        return NOTHING
    ends = found.interval
    # Below each other, so that a table fits 80 columns.
    return f"{found.value:.2f}" + ("" if ends is None else f"\n{ends[0]:.2f}-{ends[1]:.2f}")


def aup_lines(done: BenchRun) -> list[str]:
    """Return lines with the AUP of the agents and the baseline: best attempt, best submission."""
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
    """Return an episode's normalised score; without a baseline it is 1 if solved, else 0."""
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


def _mean(values: list[float]) -> str:
    return f"{math.fsum(values) / len(values):.3f}" if values else NOTHING


def _best(counted: list[float | None], *, higher: bool) -> str:
    scores = [one for one in counted if one is not None]
    return number((max if higher else min)(scores)) if scores else NOTHING


def conclude_research(done: BenchRun) -> NoReturn:
    """Print the results of a run and exit with its code."""
    if done.results:
        out.print(episodes_table(done.results, done.suite))
        out.print(scores_table(done))
        if (solved := pass_table(done.results, done.suite.references)) is not None:
            out.print(solved)
        for text in aup_lines(done):
            print_line(text)
    print_counts(done, "episodes")
    if done.exhausted:
        err.print(f"Stopped by a limit: {done.exhausted}. Without a result:", style="yellow")
        for one in done.open_units:
            print_line(f"  {one}", 300)
    end_run(done, "research")


def _research_table(title: str, *columns: str) -> Table:
    right = set(columns) - {"task", "agent", "end", "faults"}
    whole = set(columns) - {"task", "agent"}
    return make_table(title, *columns, right=right, whole=whole, simple=True)
