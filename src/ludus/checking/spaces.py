"""Checks of an environment's spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ludus.checking.findings import Findings, enforce, finding
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

if TYPE_CHECKING:
    from ludus.findings import Finding

__all__ = [
    "check_action_space",
    "check_observation_space",
    "check_space",
    "check_space_limit",
    "foreign_advice",
    "limit_findings",
    "space_findings",
]

_WAYS = {
    "gym": "derive from ludus.classic instead",
    "gymnasium": "convert with from_gymnasium or from_gymnasium_space of "
    "ludus.interop.gymnasium, or derive from ludus instead",
}

# Not as unions, which take longer than the checks.
_FINITE = (Discrete, MultiDiscrete, MultiBinary)
_NESTED = (Tuple, Dict)

BoxCheck: TypeAlias = "Callable[[Box], Iterable[Finding] | None]"


def check_action_space(
    space: Space[Any],
    *,
    space_type: str = "action",
    check_box_space_fn: Callable[[Box], None] | None = None,
) -> None:
    """Check that an action space is valid.

    Args:
        space: The space.
        space_type: Its name in messages.
        check_box_space_fn: Called with every :class:`Box` in it, instead of the default check.

    Raises:
        TypeError: ``space`` is not a :class:`Space`.
        CheckFailed: The space is empty, or its bounds have another shape.
    """
    enforce(space_findings(space, space_type, check_box_space_fn))


def check_observation_space(
    space: Space[Any],
    *,
    space_type: str = "observation",
    check_box_space_fn: Callable[[Box], None] | None = None,
) -> None:
    """Check that an observation space is valid, like :func:`check_action_space`."""
    enforce(space_findings(space, space_type, check_box_space_fn))


def check_space(
    space: Space[Any], space_type: str, check_box_space_fn: Callable[[Box], None]
) -> None:
    """Check a space, with ``check_box_space_fn`` for every :class:`Box` in it."""
    enforce(space_findings(space, space_type, check_box_space_fn))


def check_space_limit(space: Space[Any], space_type: str) -> None:
    """Warn about infinite bounds and about action spaces that are not normalized."""
    enforce(limit_findings(space, space_type))


def space_findings(space: Any, kind: str, check_box: BoxCheck | None = None) -> Findings[None]:
    """Check a space and its sub-spaces."""
    if isinstance(space, Box):
        found = _box_findings(space, kind) if check_box is None else check_box(space)
        yield from found or ()
    elif isinstance(space, _FINITE):
        yield from _finite_findings(space, kind)
    elif isinstance(space, _NESTED):
        children = _children(space)
        if not children:
            yield finding(
                "empty-space", f"An empty {type(space).__name__} {kind} space is not allowed."
            )
        for child in children:
            yield from space_findings(child, kind, check_box)
    elif not isinstance(space, Space):
        yield finding("space-type", _not_a_space(space, kind))


def _children(space: Tuple | Dict) -> list[Space[Any]]:
    return list(space.spaces.values() if isinstance(space, Dict) else space.spaces)


def _not_a_space(space: Any, kind: str) -> str:
    return (
        f"The {kind} space does not inherit from `ludus.spaces.Space`, actual type: {type(space)}."
        f"{foreign_advice(space)}"
    )


def foreign_advice(thing: object) -> str:
    """Return advice for an object of Gym or Gymnasium, ``""`` for others."""
    libraries = {base.__module__.partition(".")[0] for base in type(thing).__mro__}
    for library, way in _WAYS.items():
        if library in libraries:
            return f" {library} is incompatible with Ludus; {way}."
    return ""


def _box_findings(space: Box, kind: str) -> Findings[None]:
    for name in ("low", "high"):
        given = getattr(space, name)
        bound = given.shape if type(given) is np.ndarray else np.shape(given)
        if bound != space.shape:
            yield finding(
                "space-shape",
                f"The Box {kind} space shape and {name} shape have different shapes: "
                f"{space.shape} and {bound}.",
            )
            return
    if np.equal(space.low, space.high).any():
        yield finding(
            "equal-bounds", f"A Box {kind} space maximum and minimum values are equal: {space}."
        )
    elif kind == "observation" and np.less(space.high, space.low).any():
        yield finding(
            "inverted-bounds",
            f"A Box {kind} space low value is greater than a high value: {space}.",
        )


def _finite_findings(space: Discrete | MultiDiscrete | MultiBinary, kind: str) -> Findings[None]:
    shape: tuple[int, ...]
    counts: Any
    if isinstance(space, Discrete):
        what, shape, counts = "number of elements must be positive", (), space.n
    elif isinstance(space, MultiDiscrete):
        what = "all nvec elements must be greater than 0"
        shape, counts = np.shape(space.nvec), space.nvec
    else:
        what = "all shape elements must be greater than 0"
        shape = counts = space.shape
    positive = counts > 0 if isinstance(space, Discrete) else np.all(np.asarray(counts) > 0)
    if positive and space.shape == shape:
        return
    pre = f"{type(space).__name__} {kind} space's"
    if space.shape != shape:
        yield finding(
            "space-shape",
            f"{pre} shape should be {shape or 'empty'}, actual shape: {space.shape}.",
        )
    if not positive:
        yield finding("empty-space", f"{pre} {what}, actual: {counts}.")


def limit_findings(space: Space[Any], kind: str) -> Findings[None]:
    """Find bounds that are problematic for learning algorithms."""
    if isinstance(space, Tuple | Dict):
        for child in _children(space):
            yield from limit_findings(child, kind)
    if not isinstance(space, Box):
        return
    if np.any(np.isneginf(space.low)):
        yield finding(
            "infinite-bounds",
            f"A Box {kind} space minimum value is -infinity. This is probably too low.",
        )
    if np.any(np.isposinf(space.high)):
        yield finding(
            "infinite-bounds",
            f"A Box {kind} space maximum value is infinity. This is probably too high.",
        )
    if kind == "action" and len(space.shape) == 1 and not _is_normalized(space):
        yield finding(
            "action-not-normalized",
            # Programs filter this warning by its middle part, which is Gymnasium's text.
            f"The action space is {space}; for continuous actions we recommend using a symmetric "
            "and normalized space: from -1 to 1, or from 0 to 1.",
        )


def _is_normalized(space: Box) -> bool:
    low, high = space.low, space.high
    symmetric = (low == 0) | (np.abs(low) == np.abs(high))
    return bool(np.all(symmetric & (low >= -1) & (high <= 1)))
