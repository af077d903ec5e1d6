"""Raw scores, environment by environment."""

from __future__ import annotations

from typing import Literal

from ludus.bench.report.charts.frame import domain_of
from ludus.bench.report.charts.lines import strip
from ludus.bench.report.document import (
    Cell,
    Code,
    Column,
    Inline,
    Name,
    ReportTable,
    Section,
    name,
    numeric,
    sentence,
    text,
)
from ludus.bench.report.facts import Facts
from ludus.bench.report.text import ABSENT, count, interval, number, plural, ratio, share

__all__ = ["environments"]

_STRIPS = 600
_OPEN = 8


def environments(facts: Facts) -> Section | None:
    """The section, where there are results."""
    if not facts.envs:
        return None
    pictures = len(facts.cells) <= _STRIPS
    told = (
        "Means over the n runs that count, with 95 % bootstrap intervals; there is none of one run "
        "or of faults alone. Which runs count, and as what, is said under overall scores."
    )
    strips = f"Strips of the runs are left out beyond {_STRIPS} pairs of agent and environment."
    if pictures:
        strips = (
            "In the strips each thin line is a run that counts, the mark is the mean and the thick "
            "line its interval; strips of one environment share their scale."
        )
    tables = [
        _table(facts, env, pictures, "open" if index < _OPEN else "closed")
        for index, env in enumerate(facts.envs)
    ]
    return Section(
        "environments", "Environments", (sentence(told), sentence(strips, kind="legend"), *tables)
    )


def _table(
    facts: Facts, env: str, pictures: bool, folding: Literal["open", "closed"]
) -> ReportTable:
    agents = [agent for agent in facts.agents if (env, agent) in facts.cells]
    scores = [score for agent in agents for score in facts.cells[env, agent].scores.tolist()]
    domain = domain_of(scores) if scores and pictures else None
    columns = [
        Column("Agent"),
        *numeric("Mean", "n of runs", "95 % interval", "Normalised mean"),
        Column("Runs on one scale", "picture"),
        *numeric("Agent faults", "Infrastructure faults", "Verified"),
    ]
    rows = [_row(facts, env, agent, domain) for agent in agents]
    if domain is None:
        columns = [column for column in columns if column.kind != "picture"]
        rows = [row[:5] + row[6:] for row in rows]
    return ReportTable(_caption(facts, env, len(agents)), tuple(columns), tuple(rows), folding)


def _caption(facts: Facts, env: str, agents: int) -> tuple[Inline, ...]:
    reference = facts.references.get(env)
    scored = sum(facts.cells[pair].tally.scored for pair in facts.cells if pair[0] == env)
    runs = sum(facts.cells[pair].tally.runs for pair in facts.cells if pair[0] == env)
    start = f": {plural(agents, 'agent')}, {share(scored, runs)} runs scored; "
    if reference is None:
        return Name(env), start + f"no reference{_floor(facts, env)}."
    zero, one = reference.minimum, reference.maximum
    if not reference.higher_is_better:
        zero, one = one, zero
    told = start + f"reference {number(zero)} (counts as 0) to {number(one)} (counts as 1)"
    end = f"{_floor(facts, env)}."
    if not reference.source:
        return Name(env), told + end
    return Name(env), told + ", from ", Code(reference.source), end


def _floor(facts: Facts, env: str) -> str:
    """What a fault counts as there, where it is the same for all agents and one of them failed."""
    cells = [cell for (name_of, _), cell in facts.cells.items() if name_of == env]
    found = {cell.floor for cell in cells if cell.tally.agent_fault}
    if not found:
        return ""
    if len(found) > 1:
        return "; a fault counts as the agent's own worst score"
    floor = found.pop()
    return "; no floor is known" if floor is None else f"; a fault counts as {number(floor)}"


def _row(
    facts: Facts, env: str, agent: str, domain: tuple[float, float] | None
) -> tuple[Cell, ...]:
    cell = facts.cells[env, agent]
    tally, mean, style = cell.tally, cell.mean, facts.style(agent)
    picture = None
    if mean is not None and domain is not None:
        picture = strip(
            cell.scores.tolist(), mean.value, mean.low, mean.high, domain=domain, style=style
        )
    return (
        name(agent, style),
        text(number(mean.value if mean else None)),
        text(share(len(cell.scores), tally.runs)),
        text(interval(mean.low, mean.high) if mean else ABSENT),
        text(ratio(cell.normalised)),
        Cell(ABSENT, picture=picture),
        text(count(tally.agent_fault), "bad" if tally.agent_fault else ""),
        text(count(tally.infrastructure_fault), "open" if tally.infrastructure_fault else ""),
        text(share(tally.verified, tally.runs)),
    )
