"""Probability of improvement: how often a run of one agent beats a run of another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from ludus.bench.report.charts.intervals import Panel, Row, interval_chart
from ludus.bench.report.charts.style import STYLES
from ludus.bench.report.document import (
    Cell,
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
from ludus.bench.report.text import count, ratio, ratio_interval, share
from ludus.bench.statistics.aggregates import probability_of_improvement
from ludus.bench.statistics.bootstrap import Estimate, estimate
from ludus.bench.statistics.scores import joined

__all__ = ["improvement"]

_AGENTS = 5


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two agents on the environments where both have runs that count."""

    first: str
    second: str
    found: Estimate
    runs: int
    other_runs: int
    envs: int


def improvement(facts: Facts) -> Section | None:
    """The section, where two agents have runs on the same environment."""
    compared = facts.agents[:_AGENTS]
    pairs = [pair for one, other in combinations(compared, 2) if (pair := _pair(facts, one, other))]
    if not pairs:
        return None
    told = (
        "How probable it is that a run of the first agent scores better than a run of the second "
        "on an environment picked at random; a tie is half a win, and 0.5 means no difference. A "
        "pair is compared on the environments where both have runs that count; 95 % intervals from "
        f"{count(facts.resamples)} resamples, none where an environment has a single run "
        "or an agent nothing but faults."
    )
    if len(facts.agents) > len(compared):
        told += f" Compared are the first {_AGENTS} of {len(facts.agents)} agents."
    rows = tuple(
        Row(f"{p.first} over {p.second}", p.found.value, p.found.low, p.found.high, STYLES)
        for p in pairs
    )
    panel = Panel("P(first beats second)", rows, include=(0.0, 1.0), reference=0.5)
    title = "Probability of improvement with 95 % intervals"
    figure = Figure(
        ("Dots are the probabilities, whiskers their 95 % intervals; dashed: no difference.",),
        (
            interval_chart("improvement-wide", [panel], width=880, title=title, class_="wide"),
            interval_chart("improvement-narrow", [panel], width=340, title=title, class_="narrow"),
        ),
    )
    return Section(
        "improvement", "Probability of improvement", (sentence(told), figure, _table(facts, pairs))
    )


def _pair(facts: Facts, first: str, second: str) -> _Pair | None:
    one, other = facts.upward.get(first, {}), facts.upward.get(second, {})
    envs = sorted(one.keys() & other.keys())
    if not envs:
        return None
    found = estimate(
        probability_of_improvement,
        joined({env: one[env] for env in envs}),
        joined({env: other[env] for env in envs}),
        confidence=CONFIDENCE,
        resamples=facts.resamples,
    )
    runs, other_runs = (sum(side[env][0].size for env in envs) for side in (one, other))
    return _Pair(first, second, found, runs, other_runs, len(envs))


def _table(facts: Facts, pairs: list[_Pair]) -> ReportTable:
    columns = (
        Column("Agent"),
        Column("against"),
        *numeric("Probability", "95 % interval", "n", "n of the other", "Environments"),
    )
    rows = tuple(_row(facts, pair) for pair in pairs)
    return ReportTable(
        ("Probability that the first beats the other; n counts runs.",), columns, rows
    )


def _row(facts: Facts, pair: _Pair) -> tuple[Cell, ...]:
    return (
        name(pair.first),
        name(pair.second),
        text(ratio(pair.found.value)),
        text(ratio_interval(pair.found.low, pair.found.high)),
        text(count(pair.runs)),
        text(count(pair.other_runs)),
        text(share(pair.envs, len(facts.envs))),
    )
