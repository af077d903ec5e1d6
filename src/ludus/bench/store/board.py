"""What a leaderboard says, as data."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import fsum, isfinite
from typing import Any, Literal, NamedTuple, TypeAlias

from ludus.bench.outcome import counted_score, without_copies
from ludus.bench.result import OutcomeKind, Result, Verified
from ludus.errors import BenchError

__all__ = [
    "SOURCE",
    "BoardRow",
    "BoardScale",
    "BoardTask",
    "Leaderboard",
    "RankedBy",
    "ScaleOf",
    "ScoreTally",
    "TaskScore",
    "identity_of",
    "is_uneven",
    "lookalikes",
    "tally_results",
]

_NARROWEST = 1e-100  # so that no normalised score overflows

RankedBy = Literal["normalised score", "mean rank"]


@dataclass(frozen=True, slots=True)
class BoardScale:
    """What scores are measured with.

    Attributes:
        references: by environment, the scores that count as 0 and as 1; the second may be the
            lower one. Without one for every environment of a board, mean ranks decide there.
        lower_is_better: environments in which lower scores are better, for mean ranks; a
            reference tells by itself.
        floors: by environment, the least that a result counts as, an agent's fault included.

    Raises:
        BenchError: If a reference or a floor is none.
    """

    references: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    lower_is_better: Collection[str] = ()
    floors: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for env, (zero, one) in self.references.items():
            if not (isfinite(zero) and isfinite(one) and abs(one - zero) > _NARROWEST):
                raise BenchError(
                    f"The reference ({zero}, {one}) of {env} is no scale: two different numbers "
                    "are expected, the scores that count as 0 and as 1."
                )
        for env, floor in self.floors.items():
            least = self.zero(env)
            too_good = least is not None and (floor < least if self.falls(env) else floor > least)
            if not isfinite(floor) or too_good:
                raise BenchError(
                    f"The floor {floor} of {env} is not finite, or better than {least}, the score "
                    "that counts as 0: an agent's fault would count as more."
                )

    def zero(self, env: str) -> float | None:
        """Return the score that counts as 0, ``None`` without a reference."""
        return self.references[env][0] if env in self.references else None

    def falls(self, env: str) -> bool:
        """Return whether lower scores are better."""
        if env in self.references:
            zero, one = self.references[env]
            return one < zero
        return env in self.lower_is_better


@dataclass(frozen=True, slots=True)
class BoardTask:
    """One column of a board: an environment, played with a budget.

    ``sources`` are the hashes of the environment's source that its results name: more than one
    means that they come from different implementations.
    """

    env: str
    budget: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskScore:
    """What an agent did in one task.

    Attributes:
        mean: over scored results and agent's faults, which count as the floor; ``None`` if there
            are neither, or no floor is known.
        scored: results with a score.
        agent_faults: results that failed by the agent's fault.
        infrastructure_faults: results that count nowhere.
    """

    mean: float | None
    scored: int
    agent_faults: int
    infrastructure_faults: int


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One agent.

    Attributes:
        position: from 1; equal values share one.
        agent: its name.
        value: mean normalised score or mean rank over the tasks that it has a result in.
        tasks: how many those are. Agents that lack tasks rank below those that lack none.
        results: all that count, faults included.
        scored: those with a score.
        agent_faults: those that failed by the agent's fault; each counts as the floor of its task.
        infrastructure_faults: those that say nothing about the agent; they count nowhere else.
        verified: those whose record was verified.
        refuted: results beside these, that count nowhere, because their verification failed.
        scores: by task, in the board's order; ``None`` where there is no result.
    """

    position: int
    agent: str
    value: float | None
    tasks: int
    results: int
    scored: int
    agent_faults: int
    infrastructure_faults: int
    verified: int
    refuted: int
    scores: tuple[TaskScore | None, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Agents in order. ``agents`` and ``results`` count those beyond the limit too."""

    suite: str
    suite_digest: str
    ranked_by: RankedBy
    verified_only: bool
    tasks: tuple[BoardTask, ...]
    agents: int
    results: int
    rows: tuple[BoardRow, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the board as plain JSON."""
        return asdict(self)


_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
# Letters and marks that are drawn as nothing: joiners, fillers, variation selectors, blank Braille.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Small letters of Cyrillic and Greek that look like Latin ones, themselves or as capitals.
_LATIN = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abekmhopctyxsijhldqwabezhikmvoptux",
)


def lookalikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that differ only in what a reader does not see.

    That is case, spaces, invisible characters, the several forms that Unicode has for one letter
    (composed or not, wide or narrow), and Cyrillic or Greek letters in place of Latin ones.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        groups[_skeleton(name)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _skeleton(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (one for one in folded if unicodedata.category(one) not in _UNSEEN)
    return _BLANK.sub("", "".join(seen)).translate(_LATIN)


ScaleOf: TypeAlias = Callable[[str, str], BoardScale]
"""Gives what scores are measured with, for a suite's name and digest."""


class ScoreTally(NamedTuple):
    """Results that differ in seed, run and score only: how many, and their scores' sum and range.

    Scores are what they count as: one that is worse than its task's floor is the floor. ``total``,
    ``lowest`` and ``highest`` are ``None`` for faults. Copies of a result count once.
    ``identities`` are those of the agents that the results say they are of; a store knows them of
    runs that a trusted statement is about. ``is_uneven`` if some units of the series have
    more results than others.
    """

    suite: str
    suite_digest: str
    agent: str
    env: str
    budget: str
    source_hash: str | None
    outcome: OutcomeKind
    verified: Verified
    results: int
    total: float | None
    lowest: float | None
    highest: float | None
    identities: frozenset[str] = frozenset()
    is_uneven: bool = False


SOURCE = ScoreTally._fields.index("source_hash")
_KEY = ScoreTally._fields.index("results")


def tally_results(results: Iterable[Result], scale: ScaleOf | None = None) -> list[ScoreTally]:
    """Return the tallies of results, as a store makes them of its rows."""
    scores: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    counts: Counter[tuple[Any, ...]] = Counter()
    identities: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    units: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for one in without_copies(results):
        key = tuple(getattr(one, name) for name in ScoreTally._fields[:_KEY])
        counts[key] += 1
        if one.outcome != "infrastructure_fault":
            units[_without_outcome(key)].append(one.id)
        if (identity := identity_of(one)) is not None:
            identities[key].add(identity)
        if one.score is None:
            continue
        measure = BoardScale() if scale is None else scale(one.suite, one.suite_digest)
        floor, lower = measure.floors.get(one.env), measure.falls(one.env)
        counted = counted_score(one.outcome, one.score, floor=floor, lower=lower)
        scores[key].append(one.score if counted is None else counted)
    made = []
    for key, count in counts.items():
        found = scores.get(key)
        numbers = (fsum(found), min(found), max(found)) if found else (None, None, None)
        uneven = is_uneven(units[_without_outcome(key)])
        made.append(ScoreTally._make((*key, count, *numbers, frozenset(identities[key]), uneven)))
    return made


def is_uneven(units: Iterable[str]) -> bool:
    """Tell whether some units occur more often than others."""
    return len(set(Counter(units).values())) > 1


def _without_outcome(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*key[: SOURCE + 1], *key[SOURCE + 2 :])


def identity_of(result: Result) -> str | None:
    """Return what a result says about the agent beside its name: its code and options."""
    identity = result.extra.get("agent")
    return None if identity is None else json.dumps(identity, sort_keys=True)
