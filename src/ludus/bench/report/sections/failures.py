"""Runs without a score: whose fault, why, how often."""

from __future__ import annotations

from collections import defaultdict

from ludus.bench.report.document import (
    Block,
    Cell,
    Code,
    Column,
    ReportTable,
    Section,
    name,
    numeric,
    sentence,
    text,
)
from ludus.bench.report.facts import Facts
from ludus.bench.report.text import count, plural, share, shorten
from ludus.bench.result import Result

__all__ = ["failures"]

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
            blocks.append(_table(found, told, facts.tally.runs))
        else:
            blocks.append(sentence(told))
    anew = [one for one in facts.results if one.lives > 1]
    if anew:
        told = f"Started again after such a fault: {share(len(anew), facts.tally.runs)} runs"
        names = f"{_named({one.agent for one in anew})} on {_named({one.env for one in anew})}"
        rest = "Steps, time, cost and validations of the abandoned attempts are counted."
        blocks.append(sentence(f"{told} ({names}). {rest}", kind="warning"))
    return Section("failures", "Failures", tuple(blocks))


def _table(found: list[Result], told: str, runs: int) -> ReportTable:
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
