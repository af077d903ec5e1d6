"""Copies of a result: one piece of work that is listed more than once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ludus.bench.result import Result

__all__ = ["IDENTITY", "STANDING", "without_copies"]

IDENTITY = ("id", "outcome", "score", "steps")
"""What copies have in common, beside agent, environment, seed and suite. Times and records may
differ: whoever copies a result chooses them. A unit that is done again and comes out the same says
nothing new."""

STANDING = ("verified", "failed", "claimed")
"""Which of several copies is kept. A copy that failed speaks for its own run only."""

_SAME = ("suite_digest", "agent", "env", "seed", "budget", *IDENTITY)


def without_copies(results: Iterable[Result]) -> list[Result]:
    """Return the results with each piece of work once, in the order of their first mention."""
    kept: dict[tuple[Any, ...], Result] = {}
    for result in results:
        key = tuple(getattr(result, name) for name in _SAME)
        known = kept.setdefault(key, result)
        if STANDING.index(result.verified) < STANDING.index(known.verified):
            kept[key] = result
    return list(kept.values())
