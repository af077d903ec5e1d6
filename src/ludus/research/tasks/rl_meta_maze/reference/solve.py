"""Write the state machine of policy.py: a tour until the goal is found, then ways back to it."""

from __future__ import annotations

import numpy as np
from maze import CELLS, NEXT, SEEN, START, VIEWS
from returning import beliefs_after, best_moves, moved
from searching import tour

TRIES = 3000

actions: list[int] = [0]
edges: list[tuple[int, int, int, int]] = []
"""State, whether rewarded, what is seen, next state."""


def add_state(action: int) -> int:
    """Return the number of a new state."""
    actions.append(action)
    return len(actions) - 1


def add_ways_back(goal: int) -> dict[int, int]:
    """Add states for a goal; return those to begin with, by what is seen."""
    moves = best_moves(goal)
    numbers = {belief: add_state(move) for belief, move in moves.items()}
    first = {view: numbers[belief] for view, belief in beliefs_after(goal).items()}
    for belief, move in moves.items():
        for view, part in moved(belief, move, goal).items():
            edges.append((numbers[belief], 0, view, numbers[part]))
        if any(NEXT[cell][move] == goal for cell in belief):
            edges.extend((numbers[belief], 1, view, state) for view, state in first.items())
    return first


ways_back = {goal: add_ways_back(goal) for goal in CELLS if goal != START}
cell, state = START, 0
for move in tour(TRIES):
    number = add_state(move)
    edges.append((state, 0, SEEN[cell], number))
    cell, state = NEXT[cell][move], number
    if cell != START:
        edges.extend((state, 1, view, first) for view, first in ways_back[cell].items())
following = np.zeros((len(actions), 2, len(VIEWS)), np.int64)
for before, rewarded, view, after in edges:
    following[before, rewarded, view] = after
views = np.zeros(2**9, np.int64)
views[VIEWS] = np.arange(len(VIEWS))
np.savez("weights.npz", actions=np.array(actions), following=following, views=views)
print(f"{len(actions):,} states")
