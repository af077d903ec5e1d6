"""Constants of a kernel's params as attributes of its environment."""

from __future__ import annotations

import math
from typing import Any, Self

__all__ = ["Parameter", "check_range", "number"]


def number(name: str, value: Any) -> float:
    """Return ``value`` as a float.

    Raises:
        TypeError: It is no number.
        ValueError: It is a string that is no number, or not-a-number.
    """
    try:
        converted = float(value)
    except (TypeError, ValueError) as problem:
        raise type(problem)(
            f"{name}={value!r} ({type(value).__name__}) is not a number; pass a float."
        ) from problem
    if math.isnan(converted):
        raise ValueError(f"{name} is NaN, with which nothing can be computed; pass a float.")
    return converted


def check_range(low: float, high: float) -> None:
    """Check that uniform numbers can be drawn between the bounds, as NumPy's generator does.

    Raises:
        OverflowError: The range is infinite or not a number.
        ValueError: The bounds are swapped.
    """
    if not math.isfinite(high - low):
        raise OverflowError(
            f"The range exceeds valid bounds: cannot draw between {low} and {high}; pass finite "
            "reset options."
        )
    if high < low:
        raise ValueError(
            f"high - low < 0: cannot draw between {low} and {high}; pass reset options that are "
            "not negative."
        )


class Parameter:
    """A class attribute that gives its default, and on an instance reads and sets ``env.params``.

    So ``env.gravity = 5.0`` changes the dynamics from the next step on, and ``Env.gravity`` tells
    the default. Subclasses for other values than numbers override :meth:`pack` and :meth:`unpack`.

    Args:
        default: The value before anything is set.
        field: The name of the field of params; the attribute's own name if not given.
    """

    def __init__(self, default: Any, field: str = "") -> None:
        self.default = default
        self.field = field
        self.name = ""

    def pack(self, value: Any) -> dict[str, Any]:
        """Return the fields of params that a value stands for; raises on bad values."""
        return {self.field: number(self.name, value)}

    def unpack(self, params: Any) -> Any:
        """Return the value that params hold."""
        return getattr(params, self.field)

    def with_default(self, default: Any) -> Self:
        """Return the same parameter with another default."""
        other = type(self)(default, self.field)
        other.name = self.name
        return other

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.field = self.field or name

    def __get__(self, env: Any, owner: type | None = None) -> Any:
        return self.default if env is None else self.unpack(env.params)

    def __set__(self, env: Any, value: Any) -> None:
        env.params = env.params._replace(**self.pack(value))
