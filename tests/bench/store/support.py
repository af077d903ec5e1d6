"""Results to store."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from ludus.bench.result import Result

HEAD = "ab" * 32
OUTCOMES = ("scored", "scored", "scored", "agent_fault", "infrastructure_fault")


def make_result(**changes: Any) -> Result:
    values: dict[str, Any] = {
        "id": "unit",
        "run": "first",
        "suite": "classic",
        "suite_digest": "d" * 64,
        "agent": "random",
        "env": "CartPole-v1",
        "seed": 0,
        "outcome": "scored",
        "score": 21.5,
        "episodes": 10,
        "steps": 215,
        "seconds": 0.25,
        "cost": 0.0,
        "budget": '{"episodes":10}',
        "reason": None,
        "source_hash": "5" * 64,
        "record": "units/unit",
        "head": HEAD,
        "created": "2026-01-31T12:00:00Z",
        "extra": {"returns": [20.0, 23.0], "curve": [[1, 0.5]]},
        **changes,
    }
    if values["outcome"] != "scored":
        values["score"] = None
        values["reason"] = values["reason"] or "it broke"
    return Result(**{"best_score": values["score"], **values})


def nth(index: int) -> dict[str, Any]:
    """Return the fields of the n-th of many results: some agents and environments, faults too."""
    rng = random.Random(index)
    return {
        "id": f"{rng.getrandbits(64):016x}-{index}",
        "seed": index,
        "agent": f"agent-{rng.randrange(7)}",
        "env": f"Env{rng.randrange(5)}-v0",
        "outcome": rng.choice(OUTCOMES),
        "score": round(rng.uniform(-100, 500), 3),
        "extra": {},
    }


def make_many(indices: Iterable[int], *, run: str = "many") -> Iterator[Result]:
    return (make_result(run=run, **nth(index)) for index in indices)
