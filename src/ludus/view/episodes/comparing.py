"""Two episodes beside each other: the steps are matched by their actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ludus.view.episodes.opening import AnyTrajectory
from ludus.view.episodes.trajectory import Step

__all__ = ["MOST_STEPS", "Alignment", "align"]

MOST_STEPS = 2000
"""Steps of each side that are compared."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Pairs of step numbers; ``None`` where a side has no such step.

    Attributes:
        pairs: In order; a pair of the same action has both.
        first_difference: The place of the first pair that differs.
        is_cut: Whether a side has more steps than are compared.
        same: How many pairs have the same action.
    """

    pairs: list[tuple[int | None, int | None]]
    first_difference: int | None
    is_cut: bool
    same: int


def align(a: AnyTrajectory, b: AnyTrajectory) -> Alignment:
    """Match the steps of two episodes by a long common subsequence of their actions."""
    left, right = _actions(a.steps(0, MOST_STEPS)), _actions(b.steps(0, MOST_STEPS))
    pairs: list[tuple[int | None, int | None]] = []
    first: int | None = None
    same = 0
    matcher = SequenceMatcher(None, left, right, autojunk=True)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        if kind == "equal":
            same += a2 - a1
        elif first is None:
            first = len(pairs)
        for place in range(max(a2 - a1, b2 - b1)):
            one = a1 + place if a1 + place < a2 else None
            other = b1 + place if b1 + place < b2 else None
            pairs.append((one, other))
    return Alignment(pairs, first, a.count > MOST_STEPS or b.count > MOST_STEPS, same)


def _actions(steps: Sequence[Step]) -> list[tuple[str, str]]:
    return [(step.tool, step.action.strip() or step.stop) for step in steps]
