"""Numbers of all steps of an episode, from one pass: curves, filters and search."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ludus.record.format.disk import Handle
from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.index import Index, parsed
from ludus.view.episodes.trajectory import Step, number_of

__all__ = ["FILTERS", "Overview", "Selection", "overview_of", "search", "summarise"]

FAILED, VALIDATED, CHANGED, TOOL, THOUGHT = 1, 2, 4, 8, 16
FILTERS = {
    "failed": ("Failed", FAILED),
    "validated": ("Validated", VALIDATED),
    "changed": ("Changed files", CHANGED),
    "tool": ("Tool calls", TOOL),
}
"""Kinds of steps that can be chosen: label, and the bit in :attr:`Overview.flags`."""

_SEARCH_SECONDS = 3.0
_MOST_FOUND = 20_000


@dataclass(frozen=True, slots=True)
class Selection:
    """Steps that were found.

    Attributes:
        numbers: Of the steps.
        searched: How many steps were looked at.
        total: How many there are.
    """

    numbers: list[int]
    searched: int
    total: int


class Overview:
    """Per step: flags, the validation's score, and time and money until its end."""

    def __init__(self) -> None:
        self.flags = array("B")
        self.scores = array("d")
        self.spent = array("d")
        self.costs = array("d")

    def __len__(self) -> int:
        return len(self.flags)

    @property
    def validations(self) -> list[tuple[int, float | None]]:
        """Step and score of each validation; ``None`` if it had none."""
        return [
            (n, None if math.isnan(self.scores[n]) else self.scores[n])
            for n, flags in enumerate(self.flags)
            if flags & VALIDATED
        ]

    def chosen(self, bit: int) -> list[int]:
        """Return the steps with a flag."""
        return [n for n, flags in enumerate(self.flags) if flags & bit]

    def counts(self) -> dict[str, int]:
        """Return how many steps each filter chooses."""
        return {name: len(self.chosen(bit)) for name, (_, bit) in FILTERS.items()}

    def add(self, step: Step) -> None:
        """Add the next step."""
        validated = step.graded is not None or step.validation is not None
        self._append(
            step.is_failed, validated, bool(step.changes), bool(step.tool), bool(step.thought),
            step.validation, step.spent, step.total_cost,
        )  # fmt: skip

    def add_data(self, data: dict[str, Any]) -> None:
        """Add the next step by the data of its event."""
        graded, final, code = data.get("graded"), data.get("final"), data.get("exit_code")
        refused = any(isinstance(one, dict) and one.get("score") is None for one in (graded, final))
        score = number_of(data.get("validation"))
        self._append(
            bool(type(code) is int and code) or refused,
            graded is not None or score is not None,
            bool(data.get("changes")),
            isinstance(data.get("action"), dict),
            bool(data.get("thought")),
            score,
            number_of(data.get("spent")),
            number_of(data.get("cost")),
        )

    def _append(
        self, failed: bool, validated: bool, changed: bool, tool: bool, thought: bool,
        score: float | None, spent: float | None, cost: float | None,
    ) -> None:  # fmt: skip
        bits = zip((failed, validated, changed, tool, thought), (1, 2, 4, 8, 16), strict=True)
        self.scores.append(math.nan if score is None else score)
        self.spent.append(math.nan if spent is None else spent)
        self.costs.append(math.nan if cost is None else cost)
        self.flags.append(sum(bit for is_so, bit in bits if is_so))


_kept: WeakKeyDictionary[Index, tuple[threading.Lock, Overview]] = WeakKeyDictionary()
_lock = threading.Lock()


def overview_of(episode: EpisodeRecord) -> Overview:
    """Return the overview of an episode; what is new since the last call is read."""
    with _lock:
        lock, found = _kept.setdefault(episode.index, (threading.Lock(), Overview()))
    with lock:
        for number in range(len(found), episode.count):
            event = episode.index.event(episode.handle, episode.index.steps[number])
            found.add_data(event.data)
    return found


def summarise(steps: Iterable[Step]) -> Overview:
    """Return the overview of steps in memory."""
    found = Overview()
    for step in steps:
        found.add(step)
    return found


def search(episode: EpisodeRecord, text: str) -> Selection:
    """Return the steps whose thought, action or output contains a text, whatever its case.

    The lines are searched as they stand, without being decoded; the search ends after three seconds
    or 20,000 steps found.
    """
    wanted = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    index, handle = episode.index, episode.handle
    kinds = {place for place, name in enumerate(index.names) if name in ("act", "step", "end")}
    deadline = time.monotonic() + _SEARCH_SECONDS
    numbers: list[int] = []
    for n in range(episode.count):
        if time.monotonic() > deadline or len(numbers) >= _MOST_FOUND:
            return Selection(numbers, n, episode.count)
        first, last = episode.group(n)
        chosen = [number for number in range(first, last) if index.kinds[number] in kinds]
        if any(_matches(index, handle, number, pattern) for number in chosen[-2:]):
            numbers.append(n)
    return Selection(numbers, episode.count, episode.count)


def _matches(index: Index, handle: Handle, number: int, pattern: re.Pattern[bytes]) -> bool:
    start = index.start(number)
    line = bytes(handle.read(start, index.ends[number] - start))
    if pattern.search(line) is None:
        return False
    data = parsed(line, number).data
    # Not in names of fields, hashes or the rest of the line.
    return any(
        pattern.search(json.dumps(data.get(name), ensure_ascii=False).encode("utf-8", "replace"))
        for name in ("action", "thought", "output", "head", "tail", "stop")
        if data.get(name)
    )
