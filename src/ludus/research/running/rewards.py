"""The rewards of a record, computed anew from its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ludus.research.running.claims import scale_of
from ludus.research.running.story import Story
from ludus.research.task.reward import RewardTotals

__all__ = ["last_reward", "reward_problem"]

_TOLERANCE = 1e-9


def last_reward(story: Story, subject: Mapping[str, Any], final: Mapping[str, Any]) -> float:
    """Return the reward of a grading on the test split after the recorded steps.

    Raises:
        ValueError: The record lacks the scale of its scores.
    """
    u = scale_of(subject).normalised(final["outcome"], final["score"])
    return 0.0 if u is None else u - math.fsum(story.rewards)


def reward_problem(story: Story, subject: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the rewards of an episode, if anything.

    Raises:
        ValueError: The record lacks the scale of its scores.
    """
    scale, ledger = scale_of(subject), RewardTotals()
    for step in story.steps:
        graded, final = step["graded"], step["final"]
        reward = 0.0
        if final is not None:
            u = scale.normalised(final["outcome"], final["score"])
            if u is not None:
                reward, ledger = ledger.settled(u)
        elif graded is not None and graded["score"] is not None:
            reward, ledger = ledger.improved(scale.normalise(graded["score"]))
        if not math.isclose(step["reward"], reward, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return f"step {step['n']} is said to be worth {step['reward']!r:.40}, not {reward!r}"
        if graded is not None and step["validation"] != graded["score"]:
            return f"step {step['n']} has two scores of one validation"
    return None
