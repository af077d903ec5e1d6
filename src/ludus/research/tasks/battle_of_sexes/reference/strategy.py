"""The reference solution: insist on what pays most; the other player follows the first move."""

from __future__ import annotations


def strategy(mine: list[int], theirs: list[int]) -> int:
    """Return the next move."""
    return 0
