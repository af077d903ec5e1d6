"""What a run says it came to, computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ludus.record.replay.episode_table import METRICS, Totals

__all__ = ["claim_problem"]

_TOLERANCE = 1e-9  # for the order in which somebody added up


def claim_problem(claim: Mapping[str, Any], found: Totals) -> str | None:
    """Return what is wrong with the data of an event ``result``, if anything.

    A claim has a ``metric`` of
    :data:`~ludus.record.replay.episode_table.METRICS`, its ``value``, and may
    say of how many ``episodes``, in the order in which they ended; without, all are meant.
    """
    metric, value, count = claim.get("metric"), claim.get("value"), claim.get("episodes")
    if not isinstance(metric, str) or metric not in METRICS:
        return f"{metric!r:.100} is no metric that can be computed from episodes"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{metric} is said to be {value!r:.100}, which is no number"
    if count is not None and (type(count) is not int or count < 1):
        return f"{metric} is said to be over {count!r:.100} episodes"
    there = len(found.returns)
    if count is not None and count > there:
        return f"{metric} is said to be over {count} episodes, but only {there} were finished"
    actual = found.value(metric, count)
    if actual is None:
        return f"{metric} is said to be {value!r}, but no episode was finished"
    if not math.isclose(value, actual, rel_tol=_TOLERANCE, abs_tol=1e-12):
        over = there if count is None else count
        return f"{metric} is said to be {value!r}, but {over} episodes give {actual!r}"
    return None
