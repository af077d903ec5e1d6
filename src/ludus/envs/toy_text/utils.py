"""Draws from a list of probabilities, at Gymnasium's module path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["categorical_sample"]


def categorical_sample(
    prob_n: Sequence[float] | np.ndarray[Any, Any], np_random: np.random.Generator
) -> np.intp:
    """Return index ``i`` with probability ``prob_n[i]``, for one draw of ``np_random.random()``."""
    return np.argmax(np.cumsum(prob_n) > np_random.random())
