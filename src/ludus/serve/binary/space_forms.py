"""Descriptions of spaces that are sent: those of ``ludus.spaces``, and those of research tasks.

The spaces of research tasks have classes of their own, which ``to_dict`` refuses. They differ in
the number of steps only, so a description names them.
"""

from __future__ import annotations

from typing import Any

from ludus.spaces import Space
from ludus.spaces.serialization import to_dict

__all__ = ["describe", "research_space"]

_ACTION, _OBSERVATION, _OPEN = "ResearchAction", "ResearchObservation", "ResearchOpenObservation"
_MOST_STEPS = 2**40


def describe(space: Space[Any]) -> dict[str, Any]:
    """Return the description of a space as plain data.

    Raises:
        CustomSpaceError: It is of a class that clients do not have.
    """
    if not type(space).__module__.startswith("ludus.research.") and not _is_research(space):
        return to_dict(space)
    # Imported here, because other environments have no use for it.
    from ludus.research.episode.actions import ActionSpace
    from ludus.research.episode.own_observation import OpenDict

    if type(space) is ActionSpace:
        return {"type": _ACTION}
    known: Any = space.known if type(space) is OpenDict else space
    if type(space) is OpenDict or _is_research(space):
        steps = int(known["steps_left"].n) - 1
        return {"type": _OPEN if type(space) is OpenDict else _OBSERVATION, "steps": steps}
    return to_dict(space)


def _is_research(space: Any) -> bool:
    """Whether a space is that of the observations of research tasks."""
    parts = getattr(space, "spaces", None)
    if not isinstance(parts, dict) or "steps_left" not in parts or "task" not in parts:
        return False
    from ludus.research.episode.observation import observation_space

    steps = getattr(parts["steps_left"], "n", 0)
    return bool(steps > 0 and space == observation_space(int(steps) - 1))


def research_space(told: Any) -> Space[Any] | None:
    """Return the space of a description of :func:`describe`; ``None`` if it is no research task's.

    Raises:
        ValueError: The number of steps is none.
    """
    kind = told.get("type") if type(told) is dict else None
    if kind not in (_ACTION, _OBSERVATION, _OPEN):
        return None
    from ludus.research.episode.actions import ActionSpace
    from ludus.research.episode.observation import observation_space
    from ludus.research.episode.own_observation import OpenDict

    if kind == _ACTION:
        return ActionSpace()
    steps = told.get("steps")
    if type(steps) is not int or not 0 <= steps <= _MOST_STEPS:
        raise ValueError(f"a research task of {steps!r:.60} steps")
    known = observation_space(steps)
    return OpenDict(known) if kind == _OPEN else known
