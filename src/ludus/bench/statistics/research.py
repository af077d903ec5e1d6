"""AUP of research results, as every table and report shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ludus.bench.result import Result
from ludus.bench.statistics.aup import Aup, NonPositive, aup
from ludus.bench.statistics.gathering import best_entries
from ludus.bench.statistics.normalise import Reference

__all__ = ["ResearchAup", "research_aup"]

Entry = Literal["attempt", "submission"]

_WAYS: tuple[NonPositive, ...] = ("infeasible", "omit")


@dataclass(frozen=True, slots=True)
class ResearchAup:
    """AUP of best attempts and of best submissions; ``caveats`` belong beside both."""

    attempt: Aup
    submission: Aup
    caveats: tuple[str, ...]


def research_aup(
    results: Iterable[Result], *, references: Mapping[str, Reference], lower: Collection[str]
) -> ResearchAup | None:
    """Compute AUP of all agents, with the tasks' baselines beside them.

    A fault is a missing entry. Zero and negative scores are infeasible, as in MLGym; where that
    would punish the best score, the task is left out.

    Args:
        results: Of research tasks.
        references: By environment id; the score that becomes 0 is the baseline's.
        lower: Tasks whose metric is better the lower it is.

    Returns:
        ``None`` if no task has a feasible score.
    """
    kept = list(results)
    less = {*lower, *(env for env, one in references.items() if not one.higher_is_better)}
    baseline = {
        env: references[env].worst for env in {one.env for one in kept} if env in references
    }
    found: dict[Entry, Aup] = {}
    caveats: dict[str, None] = {}
    for entry in ("submission", "attempt"):
        table, told = best_entries(kept, entry=entry, lower=less)
        for way in _WAYS:
            try:
                made = aup(table, lower=less, baseline=baseline or None, nonpositive=way)
            except ValueError:
                continue
            found[entry] = made
            caveats |= dict.fromkeys((*made.caveats, *told))
            break
    if len(found) < 2:
        return None
    return ResearchAup(found["attempt"], found["submission"], tuple(caveats))
