"""Which results were checked against their records."""

from __future__ import annotations

from typing import Literal

from ludus.bench.report.document import (
    Cell,
    Column,
    ReportTable,
    Section,
    code,
    name,
    numeric,
    sentence,
    status,
    text,
)
from ludus.bench.report.facts import Facts
from ludus.bench.report.text import ABSENT, count, number, plural, share
from ludus.bench.result import Result

__all__ = ["verification"]

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
    return ReportTable((caption,), columns, tuple(map(_row, ordered[:_RECORDS])), "closed")


def _row(result: Result) -> tuple[Cell, ...]:
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
