"""Whether the results of a run may have been selected.

Missing results are no forgery: a run may have been interrupted. But deleted bad results look the
same, so the others stay claims until the run is complete.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from ludus.bench.planning.budget import Budget
from ludus.bench.planning.plan import Unit
from ludus.bench.planning.suite import Suite, env_id_of, load_suite, suites
from ludus.registration.lookup import find_known

__all__ = [
    "bundled_suite",
    "chosen_seeds",
    "departures",
    "left_out_although_here",
    "without_siblings",
]

_SHOWN = 10


def chosen_seeds(suite: Suite) -> Iterator[str]:
    """Yield a remark if the seeds of a suite that comes with Ludus were chosen."""
    bundled = bundled_suite(suite.name, suite.digest)
    # More or fewer than the suite's are still a choice, but not one of the luckiest.
    if bundled and suite.seeds not in (bundled.seeds, tuple(range(len(suite.seeds)))):
        yield f"seeds: they were chosen, and are not those of {suite.name}, {bundled.seeds!r:.80}"


def without_siblings(
    suite: Suite, units: Iterable[Unit], missing: Collection[str]
) -> dict[str, str]:
    """Return the units that stay claims because results of other seeds are missing, with why.

    Siblings of a unit have the same agent and environment. ``missing`` are the ids of units without
    a result that tells about the agent. If the suite comes with Ludus, its own seeds count once all
    of them are there, whatever else was asked for: they cannot have been selected.
    """
    bundled = bundled_suite(suite.name, suite.digest)
    own = frozenset(bundled.seeds if bundled else ())
    siblings: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        siblings[unit.agent.name, unit.env].append(unit)
    found = {}
    for together in siblings.values():
        seeds = sorted(unit.seed for unit in together if unit.id in missing)
        if not seeds:
            continue
        more = f" and {len(seeds) - _SHOWN} more" if len(seeds) > _SHOWN else ""
        listed = ", ".join(map(str, seeds[:_SHOWN])) + more
        is_whole = own <= {unit.seed for unit in together} - set(seeds)
        for unit in together:
            if not (is_whole and unit.seed in own):
                found[unit.id] = (
                    f"seeds: incomplete; {unit.agent.name} on {unit.env_id} has no result for "
                    f"{listed}"
                )
    return found


def left_out_although_here(suite: Suite, absent: Collection[str]) -> Iterator[str]:
    """Name environments that a run calls missing although they cannot have been.

    They are part of Ludus, and need no package but those that environments of the run need too.
    Where a package is installed here and was not there, an environment was left out rightly.
    """
    played = [row.id for row in suite.environments if row.id not in absent]
    known = {row.id: find_known(row.id) for row in suite.environments}
    had = {one for env in played if (spec := known[env]) for one in spec.security.dependencies}
    for env in sorted(known.keys() & set(absent)):
        spec = known[env]
        if spec is None or spec.security.trust != "builtin":
            continue
        if had.issuperset(spec.security.dependencies):
            yield (
                f"environments: {env} is left out as missing, and needs nothing that the others "
                "do not need"
            )


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
