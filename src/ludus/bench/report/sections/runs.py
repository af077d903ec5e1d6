"""Results run by run: raw scores, failures, verification, provenance."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from ludus.bench.report.chart_frame import domain_of
from ludus.bench.report.charts import strip
from ludus.bench.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Inline,
    Name,
    ReportTable,
    Section,
    ShellLines,
    code,
    name,
    numeric,
    sentence,
    status,
    text,
)
from ludus.bench.report.facts import Facts
from ludus.bench.report.text import ABSENT, count, interval, number, plural, ratio, share, shorten
from ludus.bench.result import Result

__all__ = ["environments", "failures", "provenance", "reproduction", "verification"]

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
        _env_table(facts, env, pictures, "open" if index < _OPEN else "closed")
        for index, env in enumerate(facts.envs)
    ]
    return Section(
        "environments", "Environments", (sentence(told), sentence(strips, kind="legend"), *tables)
    )


def _env_table(
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
    rows = [_env_row(facts, env, agent, domain) for agent in agents]
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


def _env_row(
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


_REASONS = 30
_NAMED = 3
_KINDS = {
    "agent_fault": (
        "Agent faults",
        "the agent failed, and the run counts as the floor of its environment",
    ),
    "infrastructure_fault": (
        "Infrastructure faults",
        "the machine or the library failed; the run tells nothing of the agent and does not count",
    ),
}


def failures(facts: Facts) -> Section:
    """The section."""
    blocks: list[Block] = []
    for outcome, (title, meaning) in _KINDS.items():
        found = [result for result in facts.results if result.outcome == outcome]
        told = f"{title}: {share(len(found), facts.tally.runs)} runs ({meaning})."
        if found:
            blocks.append(_reasons(found, told, facts.tally.runs))
        else:
            blocks.append(sentence(told))
    anew = [one for one in facts.results if one.lives > 1]
    if anew:
        told = f"Started again after such a fault: {share(len(anew), facts.tally.runs)} runs"
        names = f"{_named({one.agent for one in anew})} on {_named({one.env for one in anew})}"
        rest = "Steps, time, cost and validations of the abandoned attempts are counted."
        blocks.append(sentence(f"{told} ({names}). {rest}", kind="warning"))
    return Section("failures", "Failures", tuple(blocks))


def _reasons(found: list[Result], told: str, runs: int) -> ReportTable:
    by_reason: dict[str, list[Result]] = defaultdict(list)
    for result in found:
        by_reason[result.reason or "no reason given"].append(result)
    common = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [
        (
            Cell(Code(reason)),
            text(share(len(results), runs)),
            name(_named({result.agent for result in results})),
            name(_named({result.env for result in results})),
        )
        for reason, results in common[:_REASONS]
    ]
    if len(common) > _REASONS:
        rest = sum(len(results) for _, results in common[_REASONS:])
        kinds = plural(len(common) - _REASONS, "other reason")
        rows.append((text(kinds), text(share(rest, runs)), text(""), text("")))
    columns = (Column("Reason"), *numeric("Runs"), Column("Agents"), Column("Environments"))
    return ReportTable((told,), columns, tuple(rows))


def _named(names: set[str]) -> str:
    listed = ", ".join(shorten(one, 40) for one in sorted(names)[:_NAMED])
    more = len(names) - _NAMED
    return f"{listed} and {count(more)} more" if more > 0 else listed


_RECORDS = 500
_ORDER = ("failed", "claimed", "verified")


def verification(facts: Facts) -> Section | None:
    """The section, where there are results."""
    if not facts.results:
        return None
    tally = facts.tally
    told = (
        "Verified means that a key trusted by the author of this report has signed that the run's "
        "record was executed again and gives this score. "
        f"{share(tally.verified, tally.runs)} runs are verified, {count(tally.claimed)} are only "
        f"claimed, {count(tally.failed)} failed the check and count in no figure."
    )
    kind: Literal["text", "warning"] = "warning" if tally.verified < tally.runs else "text"
    return Section(
        "verification",
        "Verification",
        (sentence(told, kind=kind), _by_agent(facts), _records(facts)),
    )


def _by_agent(facts: Facts) -> ReportTable:
    rows = tuple(
        (
            name(agent),
            text(count(tally.verified)),
            text(count(tally.claimed)),
            text(count(tally.failed), "bad" if tally.failed else ""),
            text(count(tally.runs)),
        )
        for agent in facts.agents
        for tally in (facts.tallies[agent],)
    )
    columns = (Column("Agent"), *numeric("✓ verified", "○ claimed", "✗ failed", "Runs"))
    caption = f"Runs of {plural(len(facts.agents), 'agent')} by what came of the check."
    return ReportTable((caption,), columns, rows, "closed" if len(rows) > 40 else "")


def _records(facts: Facts) -> ReportTable:
    ordered = sorted(
        facts.results, key=lambda one: (_ORDER.index(one.verified), one.agent, one.env, one.seed)
    )
    caption = f"Every record: {plural(len(ordered), 'run')}."
    if len(ordered) > _RECORDS:
        caption = (
            f"{_RECORDS} of {count(len(ordered))} records: those that failed first, then the "
            "claimed, then the verified."
        )
    columns = (
        Column("Agent"),
        Column("Environment"),
        *numeric("Seed", "Score"),
        Column("Status"),
        Column("Record"),
        Column("Chain head"),
    )
    return ReportTable((caption,), columns, tuple(map(_record_row, ordered[:_RECORDS])), "closed")


def _record_row(result: Result) -> tuple[Cell, ...]:
    outcome = number(result.score) if result.score is not None else result.outcome.replace("_", " ")
    return (
        name(result.agent),
        name(result.env),
        text(str(result.seed)),
        text(outcome),
        status(result.verified),
        code(result.record or ABSENT),
        code(result.head or ABSENT),
    )


_ROWS = 200
_DEPTH = 6
_LISTED = 20
_BUDGET_OPTIONS = {"episodes": "--episodes", "steps": "--steps", "max_seconds": "--unit-seconds"}


def provenance(facts: Facts, given: Mapping[str, object]) -> Section:
    """The section: what the results carry, and what was given."""
    rows = [*_carried(facts), *_flattened({k: v for k, v in given.items() if k != "command"})]
    caption = f"Where the results come from: {plural(min(len(rows), _ROWS), 'entry', 'entries')}"
    if len(rows) > _ROWS:
        caption += f" of {count(len(rows))}"
    table = ReportTable(
        (f"{caption}.",),
        (Column("What"), Column("Value")),
        tuple((name(key), code(value)) for key, value in rows[:_ROWS]),
    )
    return Section("provenance", "Provenance", (table,))


def reproduction(facts: Facts, given: Mapping[str, object]) -> Section | None:
    """The section, where there are results."""
    suites = sorted({result.suite for result in facts.results})
    command = given.get("command")
    if isinstance(command, str):
        lines: tuple[str, ...] = (command,)
    elif isinstance(command, Sequence):
        lines = (shlex.join(map(str, command)),)
    else:
        lines = tuple(_command(facts, suite) for suite in suites[:_LISTED])
    if not lines:
        return None
    blocks: list[Block] = [
        sentence(
            "With the versions and budgets named under provenance, and the agents that had these "
            "names, the same work is run by:"
        ),
        ShellLines(lines),
    ]
    if any(result.record for result in facts.results):
        blocks.append(sentence("A single record is checked, and executed again, by:"))
        blocks.append(ShellLines(("ludus verify RECORD",)))
    return Section("reproduce", "How to reproduce", tuple(blocks))


def _command(facts: Facts, suite: str) -> str:
    results = [result for result in facts.results if result.suite == suite]
    agents = sorted({result.agent for result in results})
    seeds = sorted({result.seed for result in results})
    named = [part for agent in agents[:_LISTED] for part in ("--agent", agent)]
    which = str(len(seeds)) if seeds == list(range(len(seeds))) else ",".join(map(str, seeds))
    budget = _options({result.budget for result in results})
    return shlex.join(["ludus", "bench", "run", suite, *named, "--seeds", which, *budget])


def _options(budgets: set[str]) -> list[str]:
    """The one budget as options; several are the suite's own, by environment."""
    if len(budgets) != 1:
        return []
    budget = json.loads(min(budgets))
    return [
        part
        for key, option in _BUDGET_OPTIONS.items()
        if isinstance(budget.get(key), int | float)
        for part in (option, f"{budget[key]:g}" if key == "max_seconds" else str(budget[key]))
    ]


def _carried(facts: Facts) -> Iterator[tuple[str, str]]:
    results = facts.results
    for suite, digest in sorted({(one.suite, one.suite_digest) for one in results})[:_LISTED]:
        yield f"suite {suite}", digest
    sources = defaultdict(set)
    for result in results:
        sources[result.env].add(result.source_hash or ABSENT)
    for env in facts.envs[: 3 * _LISTED]:
        yield f"source of {env}", ", ".join(sorted(sources[env])[:_LISTED])
    for budget in sorted({one.budget for one in results})[:_LISTED]:
        yield "budget of a run", budget
    if results:
        yield "bench runs", ", ".join(sorted({one.run for one in results})[:_LISTED])
        yield (
            "created",
            f"{min(one.created for one in results)} to {max(one.created for one in results)}",
        )
        yield "steps", count(sum(one.steps for one in results))
        yield "episodes", count(sum(one.episodes for one in results))
        yield "seconds of all runs", number(sum(one.seconds for one in results))
        yield "cost of all runs", number(sum(one.cost for one in results))


def _flattened(given: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(given, Mapping) and depth < _DEPTH:
        for key, value in given.items():
            yield from _flattened(value, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        yield path, ", ".join(map(str, given[:_LISTED])) or ABSENT
    else:
        yield path, ABSENT if given is None else str(given)
