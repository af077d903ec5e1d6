"""OpenEnv's task API, which is also that of the Open Reward Standard.

A task is what a reset is given: a seed. Each split has seeds of its own, so that what is trained on
is not what is tested on.
"""

from __future__ import annotations

from typing import Any

from ludus.serve.errors import InvalidMessage

__all__ = ["COUNT", "SPLITS", "Tasks"]

SPLITS = {"train": 0, "validation": 1_000_000, "test": 2_000_000}
"""The splits, and the first seed of each."""
COUNT = 1000
"""Tasks of each split."""


class Tasks:
    """The tasks of one served environment."""

    def __init__(self, name: str) -> None:
        self._name = name

    def splits(self) -> list[dict[str, str]]:
        """Return the splits."""
        return [{"name": name, "type": name} for name in SPLITS]

    def count(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return how many tasks a split has."""
        _first(data)
        return {"num_tasks": COUNT}

    def all(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return all tasks of a split."""
        _first(data)
        return {"tasks": self._tasks(data, range(COUNT)), "env_name": self._name}

    def one(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return one task of a split, by its index.

        Raises:
            IndexError: There is none.
        """
        index = _index(data, "index")
        if index is None:
            raise InvalidMessage(["index"], "Expected an integer.", "missing")
        return {"task": self._tasks(data, [range(COUNT)[index]])[0]}

    def part(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the tasks of a split from ``start`` to before ``stop``."""
        chosen = range(COUNT)[_index(data, "start") : _index(data, "stop")]
        return {"tasks": self._tasks(data, chosen)}

    def _tasks(self, data: dict[str, Any], indices: Any) -> list[dict[str, Any]]:
        first = _first(data)
        split = data["split"]
        return [
            {"id": f"{split}-{index}", "env": self._name, "seed": first + index}
            for index in indices
        ]


def _first(data: dict[str, Any]) -> int:
    split = data.get("split")
    if not isinstance(split, str) or split not in SPLITS:
        raise InvalidMessage(["split"], f"Expected one of {list(SPLITS)}.")
    return SPLITS[split]


def _index(data: dict[str, Any], name: str) -> int | None:
    value = data.get(name)
    if type(value) is float and value.is_integer():
        value = int(value)
    if value is not None and (type(value) is not int or abs(value) > 2**53):
        raise InvalidMessage([name], "Expected an integer.")
    return value
