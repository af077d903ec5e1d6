"""Performance profiles: which share of runs scores above each threshold."""

from __future__ import annotations

import numpy as np

from ludus.bench.report.charts.lines import Axis, Line, line_chart
from ludus.bench.report.charts.style import STYLES
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
from ludus.bench.report.markup import Markup
from ludus.bench.report.text import count, number, plural, ratio, ratio_interval
from ludus.bench.statistics.profile import Profile, performance_profile
from ludus.bench.statistics.scores import FloatArray

__all__ = ["profiles"]

_POINTS = 101
_TABLE_TAUS = (0.0, 0.25, 0.5, 0.75, 0.9)


def profiles(facts: Facts) -> Section | None:
    """The section, where there are normalised scores."""
    shown = facts.ranked[:STYLES]
    if not shown:
        return None
    taus = _thresholds(facts, shown)
    found = {agent: _profile(facts, agent, taus) for agent in shown}
    runs = plural(sum(one.n for one in found.values()), "run")
    told = (
        f"Which share of an agent's runs scores more than a threshold τ; over {runs} on "
        f"{plural(len(facts.references), 'environment')}, with 95 % intervals at each threshold by "
        f"itself, from {count(facts.resamples)} resamples."
    )
    if len(facts.ranked) > len(shown):
        told += f" Shown are the {len(shown)} agents of {len(facts.ranked)} with the highest IQM."
    caption = "Further up and to the right is better. Bands are 95 % intervals."
    figure = Figure(
        (caption,),
        tuple(_chart(facts, found, taus, size) for size in ("wide", "narrow")),
        tuple((agent, facts.style(agent)) for agent in shown),
    )
    return Section(
        "profiles", "Performance profiles", (sentence(told), figure, _table(facts, shown))
    )


def _profile(facts: Facts, agent: str, taus: FloatArray) -> Profile:
    return performance_profile(
        facts.pools[agent], taus, confidence=CONFIDENCE, resamples=facts.resamples
    )


def _thresholds(facts: Facts, agents: tuple[str, ...]) -> FloatArray:
    """From below 0 to above 1, as far as nearly all scores lie."""
    pool = np.concatenate([facts.pools[agent].values for agent in agents])
    low, high = np.quantile(np.clip(pool, -1e6, 1e6), (0.02, 0.98))
    return np.linspace(min(0.0, low), max(1.0, high), _POINTS)


def _chart(facts: Facts, found: dict[str, Profile], taus: FloatArray, size: str) -> Markup:
    lines = [
        Line(
            agent,
            facts.style(agent),
            taus.tolist(),
            one.shares.tolist(),
            None if one.low is None else one.low.tolist(),
            None if one.high is None else one.high.tolist(),
        )
        for agent, one in found.items()
    ]
    half = _POINTS // 2
    return line_chart(
        f"profiles-{size}",
        lines,
        width=880 if size == "wide" else 340,
        height=400 if size == "wide" else 320,
        x=Axis("Normalised score τ", float(taus[0]), float(taus[-1])),
        y=Axis("Share of runs above τ", 0.0, 1.0),
        title="Performance profiles",
        description=f"At the threshold {number(float(taus[half]))}: "
        + ", ".join(
            f"{agent} {number(float(one.shares[half]), 2)}" for agent, one in found.items()
        ),
        class_=size,
    )


def _table(facts: Facts, shown: tuple[str, ...]) -> ReportTable:
    titles = [f"τ = {tau:g}" for tau in _TABLE_TAUS]
    rows = []
    for agent in shown:
        one = _profile(facts, agent, np.array(_TABLE_TAUS))
        cells = []
        for index, value in enumerate(one.shares):
            told = ratio(float(value))
            if one.low is not None and one.high is not None:
                told += f" {ratio_interval(float(one.low[index]), float(one.high[index]))}"
            cells.append(text(told))
        rows.append((name(agent, facts.style(agent)), *cells, text(count(one.n))))
    return ReportTable(
        ("Share of an agent's n runs above a threshold τ, with 95 % interval.",),
        (Column("Agent"), *numeric(*titles, "n")),
        tuple(rows),
    )
