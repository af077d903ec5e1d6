"""The top of the report: what was run, what came out, and what to be careful about."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ludus.bench.outcome import LARGEST_SCORE, without_copies
from ludus.bench.report.document import Inline, Name, Paragraph, Tile
from ludus.bench.report.facts import Facts
from ludus.bench.report.text import count, plural, ratio, ratio_interval, share, shorten
from ludus.bench.store.board import lookalikes
from ludus.bench.verifying.completeness import departures
from ludus.terminal_text import visible

__all__ = ["cautions", "subtitle", "summary", "tiles"]

_NAMED = 5


def subtitle(facts: Facts) -> tuple[Inline, ...]:
    """Suites and dates."""
    if not facts.results:
        return ("No results.",)
    suites = sorted({result.suite for result in facts.results})
    first = min(result.created for result in facts.results)[:10]
    last = max(result.created for result in facts.results)[:10]
    parts: list[Inline] = ["Suite " if len(suites) == 1 else "Suites "]
    for suite in suites[:5]:
        parts += [Name(suite), ", "]
    if len(suites) > 5:
        parts.append(f"{len(suites) - 5} more, ")
    return (*parts, first if first == last else f"{first} to {last}")


def summary(facts: Facts) -> Paragraph:
    """One paragraph in plain words, every number with what it is a part of."""
    tally = facts.tally
    if not tally.runs:
        return Paragraph(("There are no results: 0 runs of 0 agents on 0 environments.",))
    seeds = len({result.seed for result in facts.results})
    told = (
        f"{plural(len(facts.agents), 'agent')} on {plural(len(facts.envs), 'environment')} with "
        f"{plural(seeds, 'seed')}: {plural(tally.runs, 'run')}, of which {count(tally.scored)} "
        f"scored, {count(tally.agent_fault)} ended in a fault of the agent and "
        f"{count(tally.infrastructure_fault)} in a fault of the infrastructure. "
        f"{share(tally.verified, tally.runs)} runs are verified. "
    )
    return Paragraph((told, *_leader(facts)))


def tiles(facts: Facts) -> tuple[Tile, ...]:
    """The counts worth seeing first."""
    tally = facts.tally
    runs = f"of {plural(tally.runs, 'run')}"
    checked = tally.runs and tally.verified == tally.runs
    return (
        Tile("Scored", count(tally.scored), runs),
        Tile("Agent faults", count(tally.agent_fault), runs, "bad" if tally.agent_fault else ""),
        Tile(
            "Infrastructure faults",
            count(tally.infrastructure_fault),
            runs,
            "open" if tally.infrastructure_fault else "",
        ),
        Tile("Verified", count(tally.verified), runs, "good" if checked else "open"),
        Tile("Failed the check", count(tally.failed), runs, "bad" if tally.failed else ""),
    )


def cautions(facts: Facts) -> tuple[Paragraph, ...]:
    """What makes the results less comparable than they look."""
    found: list[str] = []
    found += _incomplete(facts)
    distinct = without_copies(facts.results)
    copies = len(facts.results) - len(distinct)
    if copies:
        found.append(
            f"{share(copies, facts.tally.runs)} runs are copies of another one, and do not count."
        )
    seen = Counter((one.agent, one.env, one.seed, one.suite_digest) for one in distinct)
    repeated = sum(times - 1 for times in seen.values())
    if repeated:
        found.append(
            f"{share(repeated, facts.tally.runs)} runs repeat the agent, environment and seed of "
            "another one; each of them counts as a run of its own."
        )
    alike = [one for group in lookalikes(facts.agents) for one in group]
    if alike:
        found.append(
            f"{share(len(alike), len(facts.agents))} agents have names that look like another's, "
            f"and are told apart: {_listed([repr(one) for one in alike])}."
        )
    found += _selected(facts)
    found += _departures(facts)
    mixed: dict[str, set[tuple[str, str | None]]] = {
        "budgets": {(one.env, one.budget) for one in facts.results},
        "versions of their source": {(one.env, one.source_hash) for one in facts.results},
    }
    for what, pairs in mixed.items():
        times = Counter(env for env, _ in pairs)
        several = sum(number_of > 1 for number_of in times.values())
        if several:
            found.append(
                f"{share(several, len(facts.envs))} environments were run with different {what}; "
                "their scores are not strictly comparable."
            )
    if len({(one.suite, one.suite_digest) for one in facts.results}) > 1:
        found.append("The results come from different suites, or different versions of one.")
    beyond = sum(abs(one.score or 0.0) > LARGEST_SCORE for one in facts.results)
    if beyond:
        found.append(
            f"{share(beyond, facts.tally.runs)} runs have a score beyond {LARGEST_SCORE:g} and are "
            "counted as if it were that one."
        )
    if facts.tally.failed:
        found.append(
            f"{share(facts.tally.failed, facts.tally.runs)} runs failed the check of their record "
            "and count in no figure."
        )
    left_out = len(facts.agents) - len(facts.ranked)
    if facts.ranked and left_out:
        found.append(
            f"{share(left_out, len(facts.agents))} agents lack a run that counts on some "
            "environment with a reference, so they have no aggregate measures and come last."
        )
    return tuple(Paragraph((text,), "warning") for text in found)


def _incomplete(facts: Facts) -> Iterator[str]:
    """What is missing: bad runs that were left out would raise every figure."""
    if facts.planned is not None and facts.tally.runs < facts.planned:
        missing = facts.planned - facts.tally.runs
        yield f"{share(missing, facts.planned)} planned runs have no result and count in no figure."
    few = set()
    for env in facts.envs:
        runs = {
            agent: facts.cells[env, agent].scores.size
            for agent in facts.agents
            if (env, agent) in facts.cells
        }
        few |= {agent for agent, count_of in runs.items() if count_of < max(runs.values())}
    if few:
        yield (
            f"{share(len(few), len(facts.agents))} agents have fewer runs that count than others "
            f"on some environment: {_listed(sorted(few))}."
        )


def _selected(facts: Facts) -> Iterator[str]:
    """Ways to select the best runs: chosen seeds, and several agents under one name."""
    seeds: dict[tuple[str, str], set[int]] = defaultdict(set)
    kinds: dict[str, set[str]] = defaultdict(set)
    for one in facts.results:
        seeds[one.env, one.agent].add(one.seed)
        if (identity := one.extra.get("agent")) is not None:
            kinds[one.agent].add(json.dumps(identity, sort_keys=True))
    sets: dict[str, set[frozenset[int]]] = defaultdict(set)
    for (env, _), found in seeds.items():
        sets[env].add(frozenset(found))
    several = sum(len(found) > 1 for found in sets.values())
    if several:
        yield (
            f"On {share(several, len(facts.envs))} environments the agents were run with different "
            "seeds."
        )
    merged = sorted(agent for agent, found in kinds.items() if len(found) > 1)
    if merged:
        yield (
            f"{share(len(merged), len(facts.agents))} agents have results of different code or "
            f"options under one name: {_listed(merged)}."
        )


def _departures(facts: Facts) -> Iterator[str]:
    """In which ways results of a suite that comes with Ludus are not what it asks for."""
    for name, digest in sorted({(one.suite, one.suite_digest) for one in facts.results}):
        budgets: dict[str, set[str]] = defaultdict(set)
        runs: Counter[tuple[str, str]] = Counter()
        for one in without_copies(facts.results):
            is_counted = one.outcome != "infrastructure_fault" and one.verified != "failed"
            if is_counted and (one.suite, one.suite_digest) == (name, digest):
                budgets[one.env].add(one.budget)
                runs[shorten(visible(one.agent), 40), one.env] += 1
        yield from departures(name, digest, budgets, runs)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(visible(one), 40) for one in names[:_NAMED])
    return f"{shown} and more" if len(names) > _NAMED else shown


def _leader(facts: Facts) -> list[Inline]:
    if not facts.ranked:
        return ["There are no aggregate measures; the reason is given under overall scores."]
    best = facts.ranked[0]
    figure = facts.figures[best]["IQM"]
    alone = len(facts.ranked) == 1
    told = " has an" if alone else " has the highest"
    told += f" interquartile mean of normalised scores of {ratio(figure.value)}"
    if figure.interval:
        told += f", 95 % interval {ratio_interval(*figure.interval)}"
    envs = plural(len(facts.references), "environment")
    parts: list[Inline] = [Name(best), f"{told}, over {plural(figure.n, 'run')} on {envs}"]
    if not alone:
        second = facts.ranked[1]
        next_one = facts.figures[second]["IQM"]
        parts += ["; next is ", Name(second), f" with {ratio(next_one.value)}"]
        if next_one.interval:
            parts.append(f" {ratio_interval(*next_one.interval)}")
        parts.append(f" over {plural(next_one.n, 'run')}")
        if figure.low is not None and next_one.high is not None and figure.low <= next_one.high:
            parts.append("; the two intervals overlap")
    return [*parts, "."]
