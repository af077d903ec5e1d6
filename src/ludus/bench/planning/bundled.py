"""Suites that come with Ludus, and how results of them depart from what they ask for."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping

from ludus.bench.planning.budget import Budget
from ludus.bench.planning.suite import Suite, env_id_of, load_suite, suites

__all__ = ["bundled_suite", "departures"]

_SHOWN = 10


def bundled_suite(name: str, digest: str) -> Suite | None:
    """Return the suite of this name that comes with Ludus, if it is this very version."""
    found = load_suite(name) if name in suites() else None
    return None if found is None or found.digest != digest else found


def departures(
    name: str,
    digest: str,
    budgets: Mapping[str, Collection[str]],
    runs: Mapping[tuple[str, str], int],
) -> Iterator[str]:
    """Yield in which ways results of a bundled suite are not what it asks for.

    Its digest covers neither budgets nor seeds: both may be changed for a quick look, and both may
    be chosen after a look at the scores. ``budgets`` are those that were used, by environment;
    ``runs`` the numbers of results that count, by agent and environment.
    """
    suite = bundled_suite(name, digest)
    if suite is None:
        return
    own = {env_id_of(row.id): suite.budget_of(row) for row in suite.environments}
    changed = [
        f"{env} ({other})"
        for env, budget in own.items()
        for text in sorted(budgets.get(env, ()))[:_SHOWN]
        if (other := _difference(budget, text))
    ]
    if changed:
        yield f"Other budgets than those of the suite {name}: {', '.join(changed)}."
    few = sorted({agent for (agent, _), number in runs.items() if number < len(suite.seeds)})
    if few:
        more = f" and {len(few) - _SHOWN} more" if len(few) > _SHOWN else ""
        yield (
            f"Fewer results than the suite {name} has seeds, which are {len(suite.seeds)}, on some "
            f"task: {', '.join(few[:_SHOWN])}{more}."
        )


def _difference(own: Budget, text: str) -> str:
    """Name the fields of a budget that are not the suite's; anybody may have written it."""
    told, usual = json.loads(text), own.model_dump()
    words = [
        f"{key} {'none' if told.get(key) is None else told[key]!s:.40}"
        for key, value in usual.items()
        if told.get(key) != value
    ]
    words += ["unknown fields"] if told.keys() - usual.keys() else []
    return ", ".join(words)
