"""The claim in a unit's record, and the result that follows from it.

The last event of a record that names a unit is its claim: a ``result`` if the unit was scored, a
``note`` with an ``agent_fault`` if not. A :class:`~ludus.bench.result.Result` holds nothing that
does not follow from unit, claim and rows, so that it can be computed again and compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from ludus.bench.faults import plain
from ludus.bench.planning.plan import Unit
from ludus.bench.result import Result
from ludus.bench.running.play import UnitTally

__all__ = [
    "FAULT_FIELDS",
    "METRIC",
    "MOST_EPISODES",
    "RECORDS",
    "SCORE_FIELDS",
    "claim_fault",
    "claim_score",
    "mean",
    "record_of",
    "result_of",
]

METRIC = "mean_return"
RECORDS = "records"
"""The folder of a run that its records are in."""
MOST_EPISODES = 50_000
"""Episodes whose returns a result holds, so that folders and stores take it; records hold all."""


_COMMON = {"unit", "counted", "steps", "cost", "seconds", "stopped", "learns", "created"}
SCORE_FIELDS = _COMMON | {"metric", "value", "episodes", "score"}
FAULT_FIELDS = _COMMON | {"agent_fault"}


def claim_score(unit: Unit, tally: UnitTally, seconds: float) -> dict[str, Any]:
    """Return the data of the event ``result`` of a unit that was played to its end."""
    return {
        # About all episodes of the record; in a batch some do not count.
        "metric": METRIC,
        "value": mean(tally.finished),
        "episodes": len(tally.finished),
        "score": mean(tally.returns),
        **_common(unit, tally, seconds),
    }


def claim_fault(unit: Unit, tally: UnitTally, seconds: float, reason: str) -> dict[str, Any]:
    """Return the data of the event ``note`` of a unit that the agent failed."""
    return {"agent_fault": plain(reason), **_common(unit, tally, seconds)}


def result_of(
    unit: Unit,
    run: str,
    head: str | None,
    claim: Mapping[str, Any],
    returns: Sequence[float],
    curve: Sequence[Sequence[float]] | None,
) -> Result:
    """Return the result that a record's claim and rows give.

    ``returns`` are those of the episodes that count, ``curve`` has steps and return per episode for
    agents that learn. Of very many episodes the result holds the first returns only, and a thinner
    curve.

    Raises:
        KeyError, TypeError, ValueError: The claim was forged.
    """
    reason, score = claim.get("agent_fault"), claim.get("score")
    shown = list(returns[:MOST_EPISODES])
    extra: dict[str, Any] = {"returns": shown, "agent": unit.agent.identity()}
    if len(returns) > len(shown):
        extra["returns_left_out"] = len(returns) - len(shown)
    if claim["stopped"] is not None:
        extra["stopped"] = claim["stopped"]
    if curve is not None:
        # Thinned, not cut: its end is what a curve is looked at for.
        every = max(1, -(-len(curve) // MOST_EPISODES))
        extra["curve"] = [list(point) for point in curve[every - 1 :: every]]
    return Result(
        id=unit.id,
        run=run,
        suite=unit.suite,
        suite_digest=unit.suite_digest,
        agent=unit.agent.name,
        env=unit.env_id,
        seed=unit.seed,
        outcome="scored" if reason is None else "agent_fault",
        score=score,
        best_score=score,
        episodes=len(returns),
        steps=claim["steps"],
        seconds=claim["seconds"],
        cost=claim["cost"],
        budget=unit.budget.canonical(),
        reason=reason,
        source_hash=source_hash(unit.env_id),
        record=record_of(unit),
        head=head,
        created=claim["created"],
        extra=extra,
    )


def record_of(unit: Unit) -> str:
    """Return the path of a unit's record, relative to the folder of its run."""
    return f"{RECORDS}/{unit.id}"


def mean(values: Sequence[float]) -> float:
    """Return the mean, the same for the same values in any order."""
    return math.fsum(values) / len(values)


@cache
def source_hash(env_id: str) -> str | None:
    """Return the hash of an environment's source as it is here, if it is known."""
    from ludus.record.replay.provenance import env_source
    from ludus.registration.table import registry

    spec = registry.get(env_id)
    try:
        return None if spec is None else env_source(spec)
    except (ImportError, AttributeError):
        return None


def _common(unit: Unit, tally: UnitTally, seconds: float) -> dict[str, Any]:
    return {
        "unit": unit.identity(),
        "counted": len(tally.returns),
        "steps": tally.steps,
        "cost": tally.cost,
        "seconds": round(seconds, 6),
        "stopped": tally.stopped,
        "learns": tally.curve is not None,
        "created": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
