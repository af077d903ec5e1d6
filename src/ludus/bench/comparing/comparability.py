"""Whether two sets of results answer the question which agent is better, and why not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from ludus.bench.result import Result
from ludus.bench.store.board import identity_of

__all__ = ["WORDS", "objections", "paired_tasks"]

_Side = Sequence[Result]
_VERSION = re.compile(r"-v\d+$")


def paired_tasks(a: _Side, b: _Side) -> dict[str, str]:
    """Give each environment id the name of the task it is compared as.

    That is the id itself, but where the two sides know one version each of an environment, and
    not the same, both ids name one task: ``"CartPole-v0 / CartPole-v1"``.
    """
    names = {result.env: result.env for result in (*a, *b)}
    for first, second in _versions_by_name(a, b).values():
        if len(first) == len(second) == 1 and first != second:
            names |= dict.fromkeys(first | second, " / ".join(sorted(first | second)))
    return names


def objections(a: Iterable[Result], b: Iterable[Result]) -> dict[str, str]:
    """Say what speaks against comparing, one sentence each, by the word that allows it anyway."""
    sides = list(a), list(b)
    found = {word: check(*sides) for word, check in _CHECKS.items()}
    return {word: sentence for word, sentence in found.items() if sentence}


def _suites(a: _Side, b: _Side) -> str | None:
    suites = {(result.suite, result.suite_digest) for result in (*a, *b)}
    if len(suites) <= 1:
        return None
    names = {name for name, _ in suites}
    if len(names) == 1:
        return f"the suite {names.pop()} was not the same: {len(suites)} different contents"
    return f"the results belong to different suites: {_listed(names)}"


def _versions(a: _Side, b: _Side) -> str | None:
    hashes: dict[str, set[str]] = {}
    for result in (*_counting(a), *_counting(b)):
        hashes.setdefault(result.env, set()).add((result.source_hash or "unknown")[:12])
    mixed = [
        f"{', '.join(sorted(first))} against {', '.join(sorted(second))}"
        for first, second in _versions_by_name(a, b).values()
        if first and second and first != second
    ]
    changed = [
        f"{env} with source {' and '.join(sorted(found))}"
        for env, found in hashes.items()
        if len(found) > 1
    ]
    return f"versions are mixed: {_listed(mixed + changed)}" if mixed or changed else None


def _budgets(a: _Side, b: _Side) -> str | None:
    names, budgets = paired_tasks(a, b), dict[str, set[str]]()
    for result in (*a, *b):
        budgets.setdefault(names[result.env], set()).add(result.budget)
    unequal = [
        f"{env} ({' and '.join(sorted(found))})" for env, found in budgets.items() if len(found) > 1
    ]
    return f"budgets are unequal: {_listed(unequal)}" if unequal else None


def _tasks(a: _Side, b: _Side) -> str | None:
    names = paired_tasks(a, b)
    first, second = ({names[r.env] for r in _counting(side)} for side in (a, b))
    lacking = [f"the second lacks {_listed(first - second)}"] if first - second else []
    lacking += [f"the first lacks {_listed(second - first)}"] if second - first else []
    return f"tasks are missing: {'; '.join(lacking)}" if lacking else None


def _seeds(a: _Side, b: _Side) -> str | None:
    names = paired_tasks(a, b)
    first, second = _seeds_by_task(a, names), _seeds_by_task(b, names)
    lacking = []
    for env in sorted(first.keys() & second.keys()):
        for side, missing in (
            ("second", first[env] - second[env]),
            ("first", second[env] - first[env]),
        ):
            if missing:
                lacking.append(f"on {env} the {side} lacks {_listed(sorted(missing))}")
    return f"seeds are missing: {'; '.join(lacking)}" if lacking else None


def _duplicates(a: _Side, b: _Side) -> str | None:
    units = Counter((s, r.env, r.seed) for s, side in enumerate((a, b)) for r in _counting(side))
    repeated = sum(count - 1 for count in units.values())
    if not repeated:
        return None
    return f"{repeated} results repeat an environment and seed that their side has already"


def _agents(a: _Side, b: _Side) -> str | None:
    mixed = []
    for which, side in (("first", a), ("second", b)):
        kinds = {identity_of(result) for result in _counting(side)} - {None}
        mixed += [f"{len(kinds)} in the {which}"] if len(kinds) > 1 else []
    return (
        f"one name stands for agents of different code or options: {_listed(mixed)}"
        if mixed
        else None
    )


def _claimed(a: _Side, b: _Side) -> str | None:
    return _verification(a, b, "claimed", "are only claimed: verify the runs first")


def _failed(a: _Side, b: _Side) -> str | None:
    return _verification(a, b, "failed", "FAILED verification: their record is not what was run")


def _verification(a: _Side, b: _Side, state: str, what: str) -> str | None:
    counts = [sum(r.verified == state for r in _counting(side)) for side in (a, b)]
    if not any(counts):
        return None
    return f"{counts[0]} results of the first and {counts[1]} of the second {what}"


def _counting(side: _Side) -> list[Result]:
    return [result for result in side if result.outcome != "infrastructure_fault"]


def _versions_by_name(a: _Side, b: _Side) -> dict[str, tuple[set[str], set[str]]]:
    versions: dict[str, tuple[set[str], set[str]]] = {}
    for place, side in enumerate((a, b)):
        for result in side:
            name = _VERSION.sub("", result.env)
            versions.setdefault(name, (set(), set()))[place].add(result.env)
    return versions


def _seeds_by_task(side: _Side, names: Mapping[str, str]) -> dict[str, set[int]]:
    seeds: dict[str, set[int]] = {}
    for result in _counting(side):
        seeds.setdefault(names[result.env], set()).add(result.seed)
    return seeds


def _listed(items: Iterable[object], most: int = 6) -> str:
    texts = [str(item) for item in items]
    texts = sorted(texts) if isinstance(items, set) else texts
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


_CHECKS: Mapping[str, Callable[[_Side, _Side], str | None]] = MappingProxyType(
    {
        "suites": _suites,
        "versions": _versions,
        "budgets": _budgets,
        "tasks": _tasks,
        "seeds": _seeds,
        "duplicates": _duplicates,
        "agents": _agents,
        "claimed": _claimed,
        "failed": _failed,
    }
)
WORDS = tuple(_CHECKS)
"""What an objection is called, and allowed by."""
