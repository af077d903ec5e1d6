"""Where the numbers come from, and how to get them again."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ludus.bench.report.document import (
    Block,
    Column,
    ReportTable,
    Section,
    ShellLines,
    code,
    name,
    sentence,
)
from ludus.bench.report.facts import Facts
from ludus.bench.report.text import ABSENT, count, number, plural

__all__ = ["provenance", "reproduction"]

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
