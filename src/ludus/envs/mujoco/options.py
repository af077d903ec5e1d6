"""Options of robots, checked when one is built rather than in the middle of an episode."""

from __future__ import annotations

from numbers import Real
from typing import Any

__all__ = ["check_options", "check_whole"]

_NUMBERS = ("_weight", "_scale", "_reward")


def check_whole(**options: Any) -> None:
    """Require whole numbers of at least 1.

    Raises:
        TypeError: Something else than an int.
        ValueError: Less than 1.
    """
    for name, value in options.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be a whole number, got {value!r}.")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}.")


def check_options(robot: object) -> None:
    """Check the options that a robot has kept: what each one holds shows in its name.

    Weights, scales and rewards are numbers, ranges two numbers in order.

    Raises:
        TypeError: One is something else.
        ValueError: The first number of a range is above the second.
    """
    for kind in type(robot).__mro__:
        code = getattr(kind.__dict__.get("__init__"), "__code__", None)
        for name in () if code is None else code.co_varnames[: code.co_argcount]:
            # Not through vars(): that makes every later attribute access of the robot slower.
            if hasattr(robot, f"_{name}"):
                _check(name, getattr(robot, f"_{name}"))


def _check(name: str, value: Any) -> None:
    if name.endswith(_NUMBERS) and not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if name.endswith("_range"):
        _check_range(name, value)


def _check_range(name: str, value: Any) -> None:
    pair = isinstance(value, tuple | list) or hasattr(value, "__array__")
    if not pair or len(value) != 2 or not all(isinstance(end, Real) for end in value):
        raise TypeError(f"{name} must be two numbers, as in (0.2, 1.0); got {value!r}.")
    if value[0] > value[1]:
        raise ValueError(f"{name} must have its lower end first, got {value!r}.")
