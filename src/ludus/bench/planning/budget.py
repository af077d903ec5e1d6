"""What may be spent: on one unit of work, and on a whole run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["Budget", "BudgetChange", "RunLimits", "Spent", "exclusive"]

_Count = Annotated[int, Field(gt=0, strict=True)]
_Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class BudgetChange(BaseModel):
    """What differs from another budget; see :class:`Budget`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    episodes: _Count | None = None
    steps: _Count | None = None
    max_steps: _Count | None = None
    max_seconds: _Amount | None = None
    max_cost: _Amount | None = None


class Budget(BudgetChange):
    """What one unit plays, and what it may spend on it.

    Exactly one of ``episodes`` and ``steps`` says how much is played. With ``steps``, episodes are
    played until so many steps were made, and the last one is played to its end. The others are
    limits: ``max_steps`` and ``max_cost`` end the unit with the episodes finished so far,
    ``max_seconds`` is a time-out, which is the agent's fault.
    """

    @model_validator(mode="after")
    def _one_measure(self) -> Budget:
        if (self.episodes is None) == (self.steps is None):
            given = "both are given" if self.episodes else "neither is given"
            raise ValueError(f"give either 'episodes' or 'steps'; {given}")
        return self

    def canonical(self) -> str:
        """Return the budget as JSON with sorted keys; equal budgets give equal texts."""
        return json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))

    def changed(self, change: BudgetChange) -> Budget:
        """Return the budget with other values; ``episodes`` and ``steps`` replace each other.

        Raises:
            ValueError: The result is no budget.
        """
        return Budget.model_validate(
            self.model_dump() | exclusive(change.model_dump(exclude_unset=True))
        )


def exclusive(change: dict[str, Any]) -> dict[str, Any]:
    """Return a change in which ``episodes`` takes away ``steps``, and the other way round."""
    for one, other in (("episodes", "steps"), ("steps", "episodes")):
        if change.get(one) is not None and other not in change:
            return {**change, other: None}
    return change


@dataclass(slots=True)
class Spent:
    """What a run has used up to now."""

    steps: int = 0
    seconds: float = 0.0
    cost: float = 0.0


class RunLimits(BaseModel):
    """What a whole run may spend: steps and money of all units, seconds on the clock."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_steps: _Count | None = None
    max_seconds: _Amount | None = None
    max_cost: _Amount | None = None

    def exceeded(self, spent: Spent) -> str | None:
        """Return what is used up, in words, or ``None``."""
        rows = (
            ("steps", spent.steps, self.max_steps),
            ("seconds", spent.seconds, self.max_seconds),
            ("cost", spent.cost, self.max_cost),
        )
        for name, used, most in rows:
            if most is not None and used >= most:
                return f"max_{name}: {used:g} of {most:g} {name} are used"
        return None
