"""Texts of any characters: what a terminal shows."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from ludus.spaces import Text

__all__ = ["FreeText"]

_TYPED = string.ascii_letters + string.digits + string.punctuation + " \n"


class FreeText(Text):
    """Strings of at most ``max_length`` characters without NUL; samples are printable ASCII."""

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=_TYPED, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string without NUL that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length and "\0" not in x

    def __repr__(self) -> str:
        return f"FreeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]
