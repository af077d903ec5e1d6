"""How large the record of a unit can be: whoever verifies it must not spend more on it."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.bench.planning.unit import Unit
from ludus.errors import ReplayImpossible
from ludus.record.run.reader import RunReader
from ludus.registration.table import registry

__all__ = ["most_rows", "size_problems"]

_MOST_ROWS = 10**9


def size_problems(reader: RunReader, unit: Unit) -> Iterator[str]:
    """Name in which way a record is larger than the unit can have made it.

    Only events are read for that, no rows and no other files: columns that are constant, and files
    that are holes, take the sender next to nothing.

    Raises:
        RecordDamaged: The chain is broken.
        ReplayImpossible: The suite allows more rows than anybody reads.
    """
    most, rows = most_rows(unit), 0
    for event in reader.events:
        if event.kind == "file":
            yield "it holds files of its own, and the record of a unit has none"
            return
        if event.kind == "block":
            rows += event.data["rows"]
            if rows > _MOST_ROWS:
                raise ReplayImpossible(f"a record of more than {_MOST_ROWS:,} rows is not read")
            if most is not None and rows > most:
                yield f"it has more than {most} rows, and the budget allows no more"
                return


def most_rows(unit: Unit) -> int | None:
    """Return how many rows playing a unit can record at most; ``None`` if that is not known."""
    budget, count = unit.budget, unit.agent.num_envs
    spec = registry.get(unit.env_id)
    limit = unit.max_episode_steps or unit.kwargs.get("max_episode_steps")
    if limit is None and spec is not None:
        limit = spec.max_episode_steps
    longest = limit if limit is not None and limit > 0 else None
    share = -(-(budget.episodes or budget.steps or 0) // (count or 1))
    bounds = []
    if longest is not None:
        bounds.append(share * longest if budget.episodes else share - 1 + longest)
    if budget.max_steps is not None:
        bounds.append(budget.max_steps)
    if not bounds:
        return None
    # In a batch, a call after the end of an episode only resets.
    return min(bounds) if count is None else 2 * min(bounds) + 1
