"""Rejects actions with NaN or infinite numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ludus.errors import InvalidAction

__all__ = ["check_finite", "check_finite_batch", "not_finite"]


def not_finite(action: Any, space: Any, owner: str = "The action") -> InvalidAction:
    """Return the error for an action with NaN or an infinite number."""
    return InvalidAction(
        f"{owner} is {action!r}, which is invalid: NaN and infinite numbers are refused; expected "
        f"finite numbers. The action space is {space}."
    )


def check_finite(action: np.ndarray[Any, Any], space: Any) -> None:
    """Check one action.

    Raises:
        InvalidAction: It holds NaN or an infinite number.
    """
    # A sum of few Python floats takes a third of the time of np.isfinite; it may overflow.
    if not math.isfinite(sum(action.ravel().tolist())) and not np.isfinite(action).all():
        raise not_finite(action, space)


def check_finite_batch(actions: np.ndarray[Any, Any], space: Any) -> None:
    """Check one action per environment, environments first.

    Raises:
        InvalidAction: One of them holds NaN or an infinite number; the message names the first.
    """
    finite = np.isfinite(actions)
    # Half the time of finite.all().
    if np.count_nonzero(finite) != finite.size:
        index = int(np.argwhere(~finite)[0, 0])
        raise not_finite(actions[index], space, f"The action of environment {index}")
