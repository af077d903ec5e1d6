"""The reference solution: a fixed order of moves.

The character changes every round, so nobody can be won over for good; what counts is what the
eleven do on average. Taking turns keeps the good opinion of those who look at the last two moves or
at the majority, and is forgotten by those who look at the last one. Towards the end opinions do not
matter any more.
"""

from __future__ import annotations

MOVES = (0, 0, 1, 0, 1, 0, 1, 1, 1, 1)


def strategy(mine: list[int], theirs: list[int]) -> int:
    """Return the next move."""
    return MOVES[len(mine)]
