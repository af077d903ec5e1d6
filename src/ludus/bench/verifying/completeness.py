"""Whether the results of a run may have been selected.

Missing results are no forgery: a run may have been interrupted. But deleted bad results look the
same, so the others stay claims until the run is complete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from ludus.bench.planning.bundled import bundled_suite
from ludus.bench.planning.suite import Suite
from ludus.bench.planning.unit import Unit
from ludus.registration.lookup import find_known

__all__ = ["chosen_seeds", "left_out_although_here", "without_siblings"]

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
