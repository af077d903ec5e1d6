"""Results to test with."""

from __future__ import annotations

from typing import Any

from ludus.bench.result import Result


def result(**changes: Any) -> Result:
    """A verified, scored result of ``ppo`` on CartPole-v1 with seed 0, but for ``changes``."""
    given: dict[str, Any] = {
        "run": "first",
        "suite": "classic",
        "suite_digest": "d" * 64,
        "agent": "ppo",
        "env": "CartPole-v1",
        "seed": 0,
        "outcome": "scored",
        "score": 100.0,
        "episodes": 10,
        "steps": 1000,
        "seconds": 1.5,
        "cost": 0.0,
        "budget": '{"episodes":10}',
        "source_hash": "a" * 64,
        "record": "units/0",
        "head": "b" * 64,
        "verified": "verified",
        "created": "2026-01-31T12:00:00Z",
        "extra": {"returns": [99.0, 101.0]},
    } | changes
    fault = given["outcome"] != "scored"
    given["score"] = None if fault else given["score"]
    unit = "/".join(str(given[name]) for name in ("agent", "env", "seed"))
    derived = {"id": unit, "best_score": given["score"], "reason": "it fell" if fault else None}
    return Result(**(derived | given))


def results(scores: dict[str, list[float]], **changes: Any) -> list[Result]:
    """One result for each score, by environment, seeds counting from 0."""
    return [
        result(**({"env": env, "seed": seed, "score": score} | changes))
        for env, runs in scores.items()
        for seed, score in enumerate(runs)
    ]
