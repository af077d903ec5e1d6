"""Computes the result of an episode from its record, to write it and to verify it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ludus.research.running.story import Story
from ludus.research.task.reward import Scale

__all__ = ["claim_of", "failed_claim", "scale_of"]


def claim_of(story: Story, subject: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of the event ``result`` of a finished episode.

    Raises:
        ValueError: The episode is not over, or was not graded.
    """
    if not story.is_over:
        raise ValueError("the episode is not over")
    last = story.steps[-1]
    final = last["final"]
    if final["outcome"] not in ("scored", "agent_fault"):
        raise ValueError(f"the work was not graded: {final['outcome']!r:.40}")
    score = final["score"]
    normalised = scale_of(subject).normalised(final["outcome"], score)
    return {
        **_common(story, subject),
        "outcome": final["outcome"],
        "value": score,
        "reason": final["reason"],
        "normalised": normalised,
        "end": last["end"],
    }


def failed_claim(story: Story, subject: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Return the same for an episode that the agent made an end of before it could be graded."""
    return {
        **_common(story, subject),
        "outcome": "agent_fault",
        "value": None,
        "reason": reason,
        "normalised": scale_of(subject).worst,
        "end": "agent",
    }


def scale_of(subject: Mapping[str, Any]) -> Scale:
    """Return the scale of a record's scores.

    Raises:
        ValueError: The record lacks it.
    """
    told = subject.get("evaluation")
    if not isinstance(told, Mapping):
        raise ValueError("the record does not say how scores are measured")
    fields = ("threshold", "baseline", "floor", "direction")
    return Scale(**{name: told.get(name) for name in fields})  # type: ignore[arg-type]


def _common(story: Story, subject: Mapping[str, Any]) -> dict[str, Any]:
    last = story.steps[-1] if story.steps else {}
    return {
        "metric": subject["evaluation"]["metric"],
        "best": _best(story, scale_of(subject)),
        "rewards": math.fsum(story.rewards),
        "steps": story.earlier.steps + sum("action" in step for step in story.steps),
        "validations": story.earlier.validations + len(story.validations),
        "cost": last.get("cost", story.earlier.cost),
        "usage": last.get("model_usage", {}),
        "seconds": last.get("spent", story.earlier.seconds),
        "unit": subject["unit"],
    }


def _best(story: Story, scale: Scale) -> float | None:
    """Return the best score of a validation or of the end."""
    graded = [made for _, made in story.validations]
    graded += [story.steps[-1]["final"]] if story.is_over else []
    scores = [made["score"] for made in graded if made["score"] is not None]
    pick = max if scale.direction == "higher" else min
    return pick(scores, default=None)
