"""Partial resets: the ``reset_mask`` option of vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["split_reset_mask"]

_KEY = "reset_mask"


def split_reset_mask(
    options: dict[str, Any] | None, num_envs: int
) -> tuple[npt.NDArray[np.bool_] | None, dict[str, Any] | None]:
    """Return the mask of environments to reset and the options without it.

    The caller's dict stays as it is. Without a mask the first part is ``None``, which means all.

    Raises:
        TypeError: The mask is not a NumPy array of bools.
        ValueError: The mask does not have one entry per environment, or selects none.
    """
    if options is None or _KEY not in options:
        return None, options
    mask = options[_KEY]
    name = f"`options[{_KEY!r}]`"
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"{name} must be a numpy array, got {type(mask)}; use np.array(mask).")
    if mask.shape != (num_envs,):
        raise ValueError(
            f"{name} must have shape `({num_envs},)`, one entry per environment, got {mask.shape}."
        )
    if mask.dtype != np.bool_:
        raise TypeError(
            f"{name} must have `dtype=np.bool_`, got {mask.dtype}; use mask.astype(np.bool_)."
        )
    if not mask.any():
        raise ValueError(
            f"{name} must contain at least one True value, got {mask}. To reset nothing, "
            "do not call reset()."
        )
    return mask, {key: value for key, value in options.items() if key != _KEY}
