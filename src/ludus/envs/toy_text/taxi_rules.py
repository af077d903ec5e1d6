"""The rules of the taxi's town, as a table."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ludus.envs.toy_text.tabular import Transitions

__all__ = [
    "MAP",
    "OPEN_MAP",
    "STOPS",
    "TAXI",
    "Rules",
    "decode",
    "encode",
    "mask_of",
    "starts_of",
    "table_of",
]

MAP = (
    "+---------+",
    "|R: | : :G|",
    "| : | : : |",
    "| : : : : |",
    "| | : | : |",
    "|Y| : |B: |",
    "+---------+",
)
OPEN_MAP = (*MAP[:2], "| : : : : |", *MAP[3:])
STOPS = ((0, 0), (0, 4), (4, 0), (4, 3))
TAXI = 4
"""Where the passenger is while riding."""

MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
ASIDE = ((2, 3), (3, 2), (1, 0), (0, 1))
"""The headings left and right of south, north, east and west."""


class Rules(NamedTuple):
    """What differs between the versions."""

    town: tuple[str, ...]
    start_shift: int = 0
    delivered_stays_aboard: bool = False


def encode(row: int, col: int, passenger: int, destination: int) -> int:
    """Return the number of a state."""
    return ((row * 5 + col) * 5 + passenger) * 4 + destination


def decode(state: int) -> tuple[int, int, int, int]:
    """Return row, column, passenger and destination.

    Raises:
        ValueError: There is no such state.
    """
    if not 0 <= state < 500:
        raise ValueError(f"There is no state {state}; the taxi's states run from 0 to 499.")
    rest, destination = divmod(state, 4)
    rest, passenger = divmod(rest, 5)
    row, col = divmod(rest, 5)
    return row, col, passenger, destination


def drive(town: tuple[str, ...], row: int, col: int, heading: int) -> tuple[int, int]:
    """Return where a move ends; walls stand only between columns."""
    down, right = MOVES[heading]
    if right and town[1 + row][2 * col + 1 + right] != ":":
        return row, col
    return min(max(row + down, 0), 4), col + right


def serve(rules: Rules, state: int, action: int) -> tuple[int, int, bool]:
    """Return next state, reward and end of picking up (4) or dropping off (5)."""
    row, col, passenger, destination = decode(state)
    here = (row, col)
    if action == 4 and passenger < TAXI and STOPS[passenger] == here:
        return encode(row, col, TAXI, destination), -1, False
    if action == 5 and passenger == TAXI and here in STOPS:
        stop = STOPS.index(here)
        if stop != destination:
            return encode(row, col, stop, destination), -1, False
        left = TAXI if rules.delivered_stays_aboard else destination
        return encode(row, col, left, destination), 20, True
    return state, -10, False


def table_of(rules: Rules, straight: float | None) -> Transitions:
    """Return the transitions.

    Args:
        rules: The version.
        straight: How likely the taxi goes straight in the rain, ``None`` if it is dry. A taxi that
            cannot move at all is not carried aside either.
    """
    table: Transitions = {s: {} for s in range(500)}
    for s, a in product(range(500), range(6)):
        if a >= 4:
            table[s][a] = [(1.0, *serve(rules, s, a))]
            continue
        row, col, *people = decode(s)
        ends = [drive(rules.town, row, col, a)]
        chances = [1.0]
        if straight is not None:
            stuck = ends[0] == (row, col)
            aside = (1.0 - straight) / 2.0
            ends += [(row, col) if stuck else drive(rules.town, row, col, b) for b in ASIDE[a]]
            chances = [straight, aside, aside]
        table[s][a] = [
            (chance, encode(*end, *people), -1, False)
            for chance, end in zip(chances, ends, strict=True)
        ]
    return table


def starts_of(rules: Rules) -> np.ndarray[Any, Any]:
    """Return the probability of each state to be the first."""
    starts = np.zeros(500)
    for row, col, passenger, destination in product(range(5), range(5), range(4), range(4)):
        if passenger != destination:
            starts[encode(row, col, passenger, destination) + rules.start_shift] += 1
    starts /= starts.sum()
    return starts


@lru_cache
def mask_of(rules: Rules) -> np.ndarray[Any, Any]:
    """Return for each state the mask of actions that have an effect."""
    mask = np.zeros((500, 6), np.int8)
    for s, a in product(range(500), range(6)):
        row, col, *_ = decode(s)
        if a < 4:
            mask[s, a] = drive(rules.town, row, col, a) != (row, col)
        else:
            mask[s, a] = serve(rules, s, a)[1] != -10
    return mask
