"""AUP, by which research agents are compared: best attempts and best submissions."""

from __future__ import annotations

from ludus.bench.report.charts.lines import Axis, Line, line_chart
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
from ludus.bench.report.facts import Facts
from ludus.bench.report.markup import Markup
from ludus.bench.report.text import number, plural
from ludus.bench.statistics.aup import Aup, ResearchAup, research_aup

__all__ = ["research"]

NAMESPACE = "mlgym/"
_TOLD = (
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
        tuple(_chart(facts, found.submission, shown, size) for size in ("wide", "narrow")),
        tuple((agent, facts.style(agent)) for agent in shown),
    )
    warnings = [sentence(caveat, kind="warning") for caveat in found.caveats]
    return Section(
        "aup",
        "Research tasks: AUP",
        (sentence(_TOLD), *warnings, _table(facts, found.attempt, found.submission), figure),
    )


def _computed(facts: Facts) -> ResearchAup | None:
    counted = [
        one for one in facts.results if one.env.startswith(NAMESPACE) and one.verified != "failed"
    ]
    return research_aup(counted, references=facts.references, lower=facts.lower)


def _table(facts: Facts, attempt: Aup, submission: Aup) -> ReportTable:
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


def _chart(facts: Facts, found: Aup, shown: list[str], size: str) -> Markup:
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
