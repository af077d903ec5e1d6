"""Aggregate scores over all environments, as a chart and as a table."""

from __future__ import annotations

from ludus.bench.report.charts.intervals import Panel, Row, interval_chart
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
from ludus.bench.report.facts import MEASURES, Facts
from ludus.bench.report.text import ABSENT, count, plural, ratio, ratio_interval, share

__all__ = ["overall"]

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
        blocks.append(_figure(facts))
    blocks.append(_table(facts))
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


def _figure(facts: Facts) -> Figure:
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


def _table(facts: Facts) -> ReportTable:
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
    rows = tuple(_row(facts, agent) for agent in facts.agents)
    return ReportTable((caption,), columns, rows, "closed" if len(rows) > 2 * _SHOWN else "")


def _row(facts: Facts, agent: str) -> tuple[Cell, ...]:
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
