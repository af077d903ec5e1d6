"""Figures over all environments: aggregates, profiles, improvement, and AUP of research tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ludus.bench.report.chart_frame import STYLES
from ludus.bench.report.charts import Axis, Line, Panel, Row, interval_chart, line_chart
from ludus.bench.report.document import (
    Block,
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
from ludus.bench.report.facts import CONFIDENCE, MEASURES, Facts
from ludus.bench.report.markup import Markup
from ludus.bench.report.text import ABSENT, count, number, plural, ratio, ratio_interval, share
from ludus.bench.statistics.aup import Aup, ResearchAup, research_aup
from ludus.bench.statistics.bootstrap import Estimate, Profile, estimate, performance_profile
from ludus.bench.statistics.scores import FloatArray, joined, probability_of_improvement

__all__ = ["NAMESPACE", "improvement", "overall", "profiles", "research"]

_COUNTED = (
    "An agent's fault counts as the floor of its environment, and no score counts as less; an "
    "environment without one takes the reference's lower end, or the agent's own worst score if "
    "that is worse. Infrastructure faults and runs whose record failed its check do not count."
)

_SHOWN = 20
_AXES: dict[str, tuple[float, ...]] = {"Optimality gap": (0.0,)}


def overall(facts: Facts) -> Section:
    """The section."""
    blocks: list[Block] = []
    if not facts.figures:
        blocks.append(sentence(_why_none(facts), kind="warning"))
    else:
        blocks.append(
            sentence(
                "Scores are normalised by each environment's reference: 0 is its lower end, 1 its "
                f"upper end. The measures are over {_with_reference(facts)}; every environment "
                f"weighs the same. {_COUNTED} Intervals are of 95 %, from "
                f"{count(facts.resamples)} resamples of the runs within each environment; there is "
                "none where an environment has a single run or nothing but faults."
            )
        )
        blocks.append(_overall_figure(facts))
    blocks.append(_overall_table(facts))
    return Section("overall", "Overall scores", tuple(blocks))


def _with_reference(facts: Facts) -> str:
    told = share(len(facts.references), len(facts.envs))
    return f"{told} environments, those that have a reference"


def _why_none(facts: Facts) -> str:
    if not any(facts.upward.values()):
        return "There are no runs that count, so there are no scores to aggregate."
    if not facts.references:
        return (
            "No reference scores were given, so scores of different environments cannot be put on "
            "one scale, and there are no aggregate measures."
        )
    return (
        "No agent has a run that counts on every environment with a reference, so there are "
        "no aggregate measures over the same environments."
    )


def _overall_figure(facts: Facts) -> Figure:
    shown = facts.ranked[:_SHOWN]
    panels = [
        Panel(
            measure + (" (lower is better)" if measure == "Optimality gap" else ""),
            tuple(
                Row(agent, found.value, found.low, found.high, facts.style(agent))
                for agent in shown
                for found in (facts.figures[agent][measure],)
            ),
            include=_AXES.get(measure, ()),
        )
        for measure in MEASURES
    ]
    title = "Aggregate normalised scores with 95 % intervals"
    caption = "Dots are the measures, whiskers their 95 % intervals. "
    if len(facts.ranked) > len(shown):
        caption += (
            f"Shown are the {len(shown)} agents of {len(facts.ranked)} with the highest IQM; all "
            "are in the table."
        )
    return Figure(
        (caption,),
        (
            interval_chart(
                "overall-wide", panels, width=880, columns=2, title=title, class_="wide"
            ),
            interval_chart(
                "overall-narrow", panels, width=340, columns=1, title=title, class_="narrow"
            ),
        ),
    )


def _overall_table(facts: Facts) -> ReportTable:
    columns = (
        Column("Agent"),
        *numeric("IQM", "95 % interval", "Mean", "Median", "Optimality gap", "n"),
        *numeric("Runs", "Agent faults", "Infrastructure faults", "Verified"),
    )
    caption = (
        f"All {plural(len(facts.agents), 'agent')}; measures over the n runs that count on "
        f"{_with_reference(facts)}; runs, faults and verified runs over all "
        f"{plural(len(facts.envs), 'environment')}."
    )
    rows = tuple(_overall_row(facts, agent) for agent in facts.agents)
    return ReportTable((caption,), columns, rows, "closed" if len(rows) > 2 * _SHOWN else "")


def _overall_row(facts: Facts, agent: str) -> tuple[Cell, ...]:
    tally = facts.tallies[agent]
    found = facts.figures.get(agent)
    if found is None:
        figures = [text(ABSENT)] * 6
    else:
        first = found["IQM"]
        figures = [
            text(ratio(first.value)),
            text(ratio_interval(first.low, first.high)),
            *(text(ratio(found[measure].value)) for measure in list(MEASURES)[1:]),
            text(count(first.n)),
        ]
    return (
        name(agent, facts.style(agent)),
        *figures,
        text(count(tally.runs)),
        text(count(tally.agent_fault), "bad" if tally.agent_fault else ""),
        text(count(tally.infrastructure_fault), "open" if tally.infrastructure_fault else ""),
        text(share(tally.verified, tally.runs)),
    )


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
        tuple(_profile_chart(facts, found, taus, size) for size in ("wide", "narrow")),
        tuple((agent, facts.style(agent)) for agent in shown),
    )
    return Section(
        "profiles", "Performance profiles", (sentence(told), figure, _profile_table(facts, shown))
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


def _profile_chart(facts: Facts, found: dict[str, Profile], taus: FloatArray, size: str) -> Markup:
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


def _profile_table(facts: Facts, shown: tuple[str, ...]) -> ReportTable:
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
        "improvement",
        "Probability of improvement",
        (sentence(told), figure, _pair_table(facts, pairs)),
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


def _pair_table(facts: Facts, pairs: list[_Pair]) -> ReportTable:
    columns = (
        Column("Agent"),
        Column("against"),
        *numeric("Probability", "95 % interval", "n", "n of the other", "Environments"),
    )
    rows = tuple(_pair_row(facts, pair) for pair in pairs)
    return ReportTable(
        ("Probability that the first beats the other; n counts runs.",), columns, rows
    )


def _pair_row(facts: Facts, pair: _Pair) -> tuple[Cell, ...]:
    return (
        name(pair.first),
        name(pair.second),
        text(ratio(pair.found.value)),
        text(ratio_interval(pair.found.low, pair.found.high)),
        text(count(pair.runs)),
        text(count(pair.other_runs)),
        text(share(pair.envs, len(facts.envs))),
    )


NAMESPACE = "mlgym/"
_AUP = (
    "The area under the share of tasks on which an agent's best score is within a factor 10^τ of "
    "the best of all agents; higher is better. An entry that is missing, negative, or worse than "
    "the baseline is infeasible, and within no factor of the best. (MLGym gives it 1.05 times the "
    "worst ratio of its task; its figure for agents with infeasible tasks is higher.)"
)


def research(facts: Facts) -> Section | None:
    """The section, where research tasks were scored."""
    found = _computed(facts)
    if found is None:
        return None
    shown = [agent for agent in facts.agents if agent in found.submission.values][:STYLES]
    caption = "Further up is better. Steps are tasks; an infeasible task is no step."
    figure = Figure(
        (caption,),
        tuple(_aup_chart(facts, found.submission, shown, size) for size in ("wide", "narrow")),
        tuple((agent, facts.style(agent)) for agent in shown),
    )
    warnings = [sentence(caveat, kind="warning") for caveat in found.caveats]
    return Section(
        "aup",
        "Research tasks: AUP",
        (sentence(_AUP), *warnings, _aup_table(facts, found.attempt, found.submission), figure),
    )


def _computed(facts: Facts) -> ResearchAup | None:
    counted = [
        one for one in facts.results if one.env.startswith(NAMESPACE) and one.verified != "failed"
    ]
    return research_aup(counted, references=facts.references, lower=facts.lower)


def _aup_table(facts: Facts, attempt: Aup, submission: Aup) -> ReportTable:
    agents = sorted(submission.values, key=lambda agent: -submission.values[agent])
    rows: list[tuple[Cell, ...]] = []
    for agent in agents:
        style = facts.style(agent) if agent in facts.agents else None
        failed = sum(one == agent for one, _ in submission.infeasible)
        values = (attempt.values.get(agent, 0.0), submission.values[agent])
        rows.append((name(agent, style), *(text(number(v, 4)) for v in values), text(str(failed))))
    told = f"AUP over {plural(len(submission.tasks), 'task')}, up to τ = {submission.tau_max:g}."
    columns = numeric("Best attempt", "Best submission", "Infeasible tasks")
    return ReportTable((told,), (Column("Agent"), *columns), tuple(rows))


def _aup_chart(facts: Facts, found: Aup, shown: list[str], size: str) -> Markup:
    lines = [
        Line(agent, facts.style(agent), found.taus.tolist(), found.profiles[agent].tolist())
        for agent in shown
    ]
    return line_chart(
        f"aup-{size}",
        lines,
        width=880 if size == "wide" else 340,
        height=400 if size == "wide" else 320,
        x=Axis("τ", 0.0, found.tau_max),
        y=Axis("Share of tasks within 10^τ of the best", 0.0, 1.0),
        title="Performance profiles of research tasks",
        description=", ".join(f"{agent} {number(found.values[agent], 3)}" for agent in shown),
        class_=size,
    )
