"""The baseline: begin with what pays most, then repeat what the other player did last."""

from __future__ import annotations


def strategy(mine: list[int], theirs: list[int]) -> int:
    """Return the next move."""
    return theirs[-1] if theirs else 0
