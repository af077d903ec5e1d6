"""Learning curves, where runs recorded them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ludus.bench.report.chart_frame import STYLES, domain_of
from ludus.bench.report.charts import Axis, Line, line_chart
from ludus.bench.report.document import (
    Column,
    Figure,
    ReportTable,
    Section,
    name,
    numeric,
    sentence,
    text,
)
from ludus.bench.report.facts import CONFIDENCE, Facts
from ludus.bench.report.text import number, plural, share
from ludus.bench.statistics.bootstrap import resampled_means, tails
from ludus.bench.statistics.scores import FloatArray

__all__ = ["Curve", "curves"]

Curve = Sequence[Sequence[float]]
"""Pairs of step and value."""

_POINTS = 81
_CHARTS = 12
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    """The mean of an agent's curves over the steps that all of them cover."""

    steps: FloatArray
    values: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    n: int


def curves(facts: Facts, given: Mapping[str, Curve] | None = None) -> Section | None:
    """The section, where there are curves: in the results, or given by result id."""
    read, unreadable = _collect(facts, given or {})
    if not read:
        return None
    agents = facts.agents[:STYLES]
    envs = [env for env in facts.envs if any((env, agent) in read for agent in agents)]
    means = {
        (env, agent): _mean(read[env, agent], facts.resamples)
        for env in envs[:_CHARTS]
        for agent in agents
        if (env, agent) in read
    }
    told = (
        "Lines are means over runs at equal numbers of steps, as far as all of the agent's runs "
        "go; bands are 95 % bootstrap intervals, absent for a single run. A run that ended in a "
        "fault of the agent is drawn at the floor it counts as, from beginning to end."
    )
    if len(envs) > _CHARTS:
        told += f" Shown are the first {_CHARTS} of {len(envs)} environments with curves."
    if len(facts.agents) > len(agents):
        told += f" Shown are the first {len(agents)} of {len(facts.agents)} agents."
    if unreadable:
        told += f" {plural(unreadable, 'curve')} could not be read and are left out."
    figures = tuple(
        _figure(facts, env, index, {a: means[env, a] for a in agents if (env, a) in means})
        for index, env in enumerate(envs[:_CHARTS])
    )
    return Section("curves", "Learning curves", (sentence(told), figures, _table(facts, means)))


def _collect(
    facts: Facts, given: Mapping[str, Curve]
) -> tuple[dict[tuple[str, str], list[FloatArray]], int]:
    read: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
    failed: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
    faults: Counter[tuple[str, str]] = Counter()
    unreadable = 0
    for result in facts.results:
        if result.verified == "failed" or result.outcome == "infrastructure_fault":
            continue
        faults[result.env, result.agent] += result.outcome == "agent_fault"
        raw = given.get(result.id, result.extra.get("curve"))
        if raw is None:
            continue
        curve = _read(raw)
        if curve is None:
            unreadable += 1
        elif result.outcome == "scored":
            read[result.env, result.agent].append(curve)
        else:
            failed[result.env, result.agent].append(curve)
    for pair in {*read, *failed}:
        read[pair] += _at_floor(facts.cells[pair].floor, faults[pair], read[pair] + failed[pair])
    return {pair: found for pair, found in read.items() if found}, unreadable


def _at_floor(floor: float | None, faults: int, known: list[FloatArray]) -> list[FloatArray]:
    """Return the agent's faults as curves that end at the floor.

    A fault without a curve of its own goes as far as the others: left out, it would raise the mean.
    """
    if floor is None or not faults:
        return []
    steps = np.concatenate([curve[:, 0] for curve in known])
    ends = np.array([steps.min(), steps.max()])
    return [np.stack([ends, np.full(2, floor)], axis=1)] * faults


def _read(raw: object) -> FloatArray | None:
    """Rows of step and value with ascending steps, or None if it is no curve."""
    if not isinstance(raw, Sequence) or isinstance(raw, str) or len(raw) > _LONGEST:
        return None
    found: dict[float, float] = {}
    for point in raw:
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != 2:
            return None
        if not all(isinstance(part, int | float) and math.isfinite(part) for part in point):
            return None
        found[float(point[0])] = min(max(float(point[1]), -1e300), 1e300)
    return np.array(sorted(found.items())) if found else None


def _mean(runs: Sequence[FloatArray], resamples: int) -> _Mean:
    start, stop = max(run[0, 0] for run in runs), min(run[-1, 0] for run in runs)
    steps = np.linspace(start, max(stop, start), _POINTS if stop > start else 1)
    values = np.stack([np.interp(steps, run[:, 0], run[:, 1]) for run in runs])
    low = high = None
    if len(runs) > 1:
        draws = resampled_means(np.ascontiguousarray(values.T), resamples)
        low, high = np.quantile(draws, tails(CONFIDENCE), axis=0)
    return _Mean(steps, values.mean(axis=0), low, high, len(runs))


def _figure(facts: Facts, env: str, index: int, means: Mapping[str, _Mean]) -> Figure:
    lines = [
        Line(
            agent,
            facts.style(agent),
            one.steps.tolist(),
            one.values.tolist(),
            None if one.low is None else one.low.tolist(),
            None if one.high is None else one.high.tolist(),
        )
        for agent, one in means.items()
    ]
    ends = [
        value for line in lines for part in (line.y, line.low, line.high) for value in part or ()
    ]
    steps = [step for line in lines for step in (line.x[0], line.x[-1])]
    left, right = min(steps), max(steps)
    chart = line_chart(
        f"curve-{index}",
        lines,
        width=340,
        height=270,
        x=Axis("Steps", left, right if right > left else left + 1),
        y=Axis("Score", *domain_of(ends)),
        title=f"Learning curves on {env}",
        description=_described(means),
    )
    runs = sum(one.n for one in means.values())
    return Figure(
        (f"{plural(runs, 'run')}.",),
        (chart,),
        tuple((agent, facts.style(agent)) for agent in means),
        title=env,
    )


def _described(means: Mapping[str, _Mean]) -> str:
    return "; ".join(
        f"{agent} from {number(float(one.values[0]))} to {number(float(one.values[-1]))} at step "
        f"{number(float(one.steps[-1]))}"
        for agent, one in means.items()
    )


def _table(facts: Facts, means: Mapping[tuple[str, str], _Mean]) -> ReportTable:
    rows = tuple(
        (
            name(env),
            name(agent),
            text(number(float(one.steps[0]))),
            text(number(float(one.values[0]))),
            text(number(float(one.steps[-1]))),
            text(number(float(one.values[-1]))),
            text(share(one.n, facts.cells[env, agent].tally.runs)),
        )
        for (env, agent), one in means.items()
    )
    columns = (
        Column("Environment"),
        Column("Agent"),
        *numeric("First step", "Mean there", "Last step", "Mean there", "Runs drawn"),
    )
    return ReportTable(("First and last points of the mean curves.",), columns, rows, "closed")
