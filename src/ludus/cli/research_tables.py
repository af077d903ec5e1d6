"""Tables that ``ludus research`` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ludus.audit.findings import printable
from ludus.bench.result import Result
from ludus.bench.runner import BenchRun
from ludus.bench.statistics import Estimate, number, summarise
from ludus.bench.statistics.aup import BASELINE, aup
from ludus.bench.statistics.gathering import best_entries

__all__ = ["aup_lines", "episodes_table", "scores_table"]

NOTHING = "–"


def scores_table(done: BenchRun) -> Table:
    """Return scores by task and agent, each with its denominator."""
    references, lower = done.suite.references, done.suite.lower
    summaries = summarise(done.results, references=references, lower=lower)
    columns = ("task", "agent", "mean", "95 % interval", "normalised", "best", "n", "faults")
    table = _table("Scores on the test split", *columns)
    for env in sorted({one.env for one in done.results}):
        for agent, summary in summaries.items():
            mine = [one for one in done.results if (one.env, one.agent) == (env, agent)]
            for task in (task for task in summary.tasks if task.env == env):
                counts = task.counts
                faults = f"{counts.agent_faults} agent, {counts.infrastructure_faults} infra"
                scored = [one for one in mine if one.score is not None]
                table.add_row(
                    Text(_task(env)),
                    Text(printable(agent)),
                    *_estimate(task.mean),
                    _mean([float(str(one.extra["normalised"])) for one in scored]),
                    _best(scored, higher=env not in lower),
                    f"{counts.used}/{counts.results}",
                    faults,
                )
    return table


def episodes_table(results: Sequence[Result]) -> Table:
    """Return one row for each episode."""
    table = _table(
        f"{len(results)} episodes",
        "task", "agent", "seed", "score", "normalised", "end", "steps", "validated", "seconds",
    )  # fmt: skip
    for one in results:
        fault = one.outcome.replace("_", " ")
        normalised = one.extra.get("normalised")
        table.add_row(
            Text(_task(one.env)),
            Text(printable(one.agent)),
            str(one.seed),
            fault if one.score is None else f"{one.score:.6g}",
            NOTHING if not isinstance(normalised, float) else f"{normalised:.3f}",
            str(one.extra.get("end", NOTHING)),
            str(one.steps),
            str(one.extra.get("validations", NOTHING)),
            f"{one.seconds:.1f}",
        )
    return table


def aup_lines(done: BenchRun) -> list[str]:
    """Return AUP of agents and baseline in words, best attempt and best submission."""
    references, lower = done.suite.references, done.suite.lower
    baseline = {env: scale.worst for env, scale in references.items()}
    found: dict[str, list[str]] = {}
    caveats: dict[str, None] = {}
    for entry in ("attempt", "submission"):
        table, notes = best_entries(done.results, entry=entry, lower=lower)
        if not table:
            return []
        try:
            made = aup(table, lower=lower, baseline=baseline, nonpositive="omit")
        except ValueError as problem:
            return [f"There is no AUP: {problem}"]
        for name, value in made.values.items():
            found.setdefault(name, []).append(f"{entry} {value:.3f}")
        caveats |= dict.fromkeys((*notes, *made.caveats))
    order = sorted(found, key=lambda name: (name == BASELINE, name))
    lines = [f"AUP of {printable(name)}: {', '.join(found[name])}" for name in order]
    return [*lines, *(f"note: {one}" for one in caveats)]


def _task(env: str) -> str:
    return env.removeprefix("mlgym/").removesuffix("-v0")


def _estimate(found: Estimate | None) -> tuple[str, str]:
    if found is None:
        return NOTHING, NOTHING
    ends = found.interval
    return number(found.value), NOTHING if ends is None else " … ".join(map(number, ends))


def _mean(values: list[float]) -> str:
    return f"{math.fsum(values) / len(values):.3f}" if values else NOTHING


def _best(results: list[Result], *, higher: bool) -> str:
    scores = [one.score for one in results if one.score is not None]
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
            no_wrap=column not in ("agent", "end"),
            justify="left" if is_text else "right",
        )
    return table
