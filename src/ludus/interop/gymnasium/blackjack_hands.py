"""Gymnasium's Blackjack helper functions; a hand is a list of cards, an ace is 1.

They are for programs that import them; Ludus's environment encodes hands as integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "cmp",
    "deck",
    "draw_card",
    "draw_hand",
    "is_bust",
    "is_natural",
    "score",
    "sum_hand",
    "usable_ace",
]

deck = [*range(1, 11), 10, 10, 10]
"""The cards, equally likely."""


def cmp(a: float, b: float) -> float:
    """Return 1, 0 or -1 as ``a`` is greater than, equal to or less than ``b``."""
    return float(a > b) - float(a < b)


def draw_card(np_random: np.random.Generator) -> int:
    """Draw a card with replacement."""
    return int(np_random.choice(deck))


def draw_hand(np_random: np.random.Generator) -> list[int]:
    """Draw two cards."""
    return [draw_card(np_random), draw_card(np_random)]


def usable_ace(hand: Sequence[int]) -> int:
    """Return 1 if the hand has an ace that can count 11, else 0."""
    return int(1 in hand and sum(hand) + 10 <= 21)


def sum_hand(hand: Sequence[int]) -> int:
    """Return the total; a usable ace counts 11."""
    return sum(hand) + 10 * usable_ace(hand)


def is_bust(hand: Sequence[int]) -> bool:
    """Return whether the total exceeds 21."""
    return sum_hand(hand) > 21


def score(hand: Sequence[int]) -> int:
    """Return the total, 0 for a bust hand."""
    return 0 if is_bust(hand) else sum_hand(hand)


def is_natural(hand: Any) -> bool:
    """Return whether the hand is an ace and a ten."""
    return sorted(hand) == [1, 10]
