"""The way back to a known goal from an unknown cell, the shortest that there is on average.

What is known of the own place is a belief: the set of cells that it can be. Moving and looking
makes it smaller. The best move for each belief that can arise is found by value iteration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from maze import CELLS, NEXT, SEEN

Belief = frozenset[int]


def by_view(cells: Iterable[int]) -> dict[int, Belief]:
    """Return the beliefs that looking makes of a set of cells, by what is seen."""
    parts: dict[int, set[int]] = defaultdict(set)
    for cell in cells:
        parts[SEEN[cell]].add(cell)
    return {view: frozenset(part) for view, part in parts.items()}


def beliefs_after(goal: int) -> dict[int, Belief]:
    """Return what is known just after the goal was reached."""
    return by_view(cell for cell in CELLS if cell != goal)


def moved(belief: Belief, move: int, goal: int) -> dict[int, Belief]:
    """Return what is known after a move that did not reach the goal."""
    return by_view(there for cell in belief if (there := NEXT[cell][move]) != goal)


def best_moves(goal: int) -> dict[Belief, int]:
    """Return the move that is best for each belief."""
    graph: dict[Belief, list[list[Belief]]] = {}
    open_ends = list(beliefs_after(goal).values())
    while open_ends:
        belief = open_ends.pop()
        if belief not in graph:
            graph[belief] = [list(moved(belief, move, goal).values()) for move in range(4)]
            open_ends += [part for parts in graph[belief] for part in parts]
    # Steps to the goal, summed over the cells of a belief: whole numbers, so this ends exactly.
    steps, sums = dict.fromkeys(graph, 0), {}
    changed = True
    while changed:
        changed = False
        for belief in sorted(graph, key=len):
            sums[belief] = [sum(steps[part] for part in parts) for parts in graph[belief]]
            now = len(belief) + min(sums[belief])
            changed = changed or now != steps[belief]
            steps[belief] = now
    return {belief: totals.index(min(totals)) for belief, totals in sums.items()}
