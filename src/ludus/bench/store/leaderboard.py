"""Leaderboards: agents of a suite in order, with what the order rests on.

Means of different environments are not on one scale, and are never averaged as they are. Agents
are ranked by their mean normalised score where every environment has a reference, else by their
mean rank over the environments. Results that are not comparable do not meet on one board: each
version of a suite has its own, and so has each budget if an environment was played with several.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING

from ludus.bench.outcome import fault_floor, worst_of
from ludus.bench.store.board import (
    SOURCE,
    BoardRow,
    BoardScale,
    BoardTask,
    Leaderboard,
    RankedBy,
    ScaleOf,
    ScoreTally,
    TaskScore,
    lookalikes,
)
from ludus.errors import BenchError

if TYPE_CHECKING:
    from ludus.bench.planning.suite import Suite

__all__ = ["bundled_scale", "make_boards", "scale_of"]


def bundled_scale(suite: str, digest: str) -> BoardScale:
    """Return the scale of a suite that comes with Ludus, empty unless it is this very version."""
    from ludus.bench.verifying.completeness import bundled_suite

    found = bundled_suite(suite, digest)
    return BoardScale() if found is None else scale_of(found)


def scale_of(suite: Suite) -> BoardScale:
    """Return what scores of a suite are measured with."""
    pairs = {
        env: (one.minimum, one.maximum) if one.higher_is_better else (one.maximum, one.minimum)
        for env, one in suite.references.items()
    }
    return BoardScale(pairs, suite.lower, suite.floors)


def make_boards(
    tallies: Iterable[ScoreTally],
    *,
    verified_only: bool = False,
    limit: int | None = None,
    scale: ScaleOf = bundled_scale,
    missing: Mapping[tuple[str, str], int] | None = None,
) -> list[Leaderboard]:
    """Return the leaderboards that tallies give, sorted by suite.

    Args:
        tallies: of one suite or of several.
        verified_only: whether only results count whose record was verified.
        limit: rows per board; positions and ranks are those among all agents.
        scale: gives what scores are measured with, for a suite's name and digest.
        missing: by a suite's name and digest, how many results trusted statements are about that
            are not there.

    Raises:
        BenchError: If the limit or a reference is none.
    """
    if limit is not None and limit < 1:
        raise BenchError(f"A leaderboard has at least one row, not {limit}; leave out the limit.")
    versions: dict[str, dict[str, list[ScoreTally]]] = {}
    for tally in sorted(tallies, key=lambda tally: tally[:SOURCE]):
        versions.setdefault(tally.suite, {}).setdefault(tally.suite_digest, []).append(tally)
    boards = []
    for suite, digests in versions.items():
        for digest, found in digests.items():
            measure = scale(suite, digest)
            notes = []
            if len(digests) > 1:
                notes.append(f"The suite is here in {len(digests)} versions, each with a board.")
            if lacking := (missing or {}).get((suite, digest)):
                notes.append(f"{lacking} results that a trusted statement is about are not here.")
            for part, why in _by_budget(found, verified_only):
                board = _Making(part, verified_only, measure, [*notes, *why])
                boards.append(board.board(limit))
    return boards


def _by_budget(
    tallies: list[ScoreTally], verified_only: bool
) -> list[tuple[list[ScoreTally], list[str]]]:
    """Return what may stand on one board, with what is to be said about it.

    Only results that count can make several boards of one.
    """
    budgets: dict[str, set[str]] = defaultdict(set)
    for tally in tallies:
        counts = tally.verified == "verified" or (tally.verified == "claimed" and not verified_only)
        if counts and tally.outcome != "infrastructure_fault":
            budgets[tally.env].add(tally.budget)
    mixed = [env for env, found in budgets.items() if len(found) > 1]
    if not mixed:
        return [(tallies, [])]
    parts: dict[str, list[ScoreTally]] = defaultdict(list)
    for tally in tallies:
        parts[tally.budget].append(tally)
    return [
        (part, [f"Budgets differ ({_some(mixed)}), each has a board; this is {budget}."])
        for budget, part in sorted(parts.items())
    ]


@dataclass(slots=True)
class _Cell:
    """What an agent did in a task, while it is being counted."""

    scored: int = 0
    agent_faults: int = 0
    infrastructure_faults: int = 0
    total: float = 0.0
    worst: float | None = None

    def count(self, tally: ScoreTally, lower: bool) -> None:
        if tally.outcome == "scored":
            self.scored += tally.results
            self.total += tally.total or 0.0
            ends = (self.worst, tally.highest if lower else tally.lowest)
            self.worst = worst_of([one for one in ends if one is not None], lower=lower)
        elif tally.outcome == "agent_fault":
            self.agent_faults += tally.results
        else:
            self.infrastructure_faults += tally.results

    @property
    def attempts(self) -> int:
        return self.scored + self.agent_faults

    def mean(self, fault: float) -> float:
        """Return the mean over all attempts, if a fault has that score."""
        # A fault may be worth -inf, and no fault is worth nothing.
        spoilt = self.agent_faults * fault if self.agent_faults else 0.0
        return (self.total + spoilt) / self.attempts

    def score(self, floor: float | None) -> TaskScore:
        mean = None
        if self.attempts and (floor is not None or not self.agent_faults):
            mean = self.mean(floor or 0.0)
        return TaskScore(mean, self.scored, self.agent_faults, self.infrastructure_faults)


class _Making:
    """One board, being made."""

    def __init__(
        self,
        tallies: list[ScoreTally],
        verified_only: bool,
        scale: BoardScale,
        notes: list[str],
    ) -> None:
        self.first = tallies[0]
        self.verified_only = verified_only
        self.scale = scale
        self.notes = notes
        self.cells: dict[str, dict[str, _Cell]] = defaultdict(lambda: defaultdict(_Cell))
        self.worst: dict[str, float] = {}
        self.verified: Counter[str] = Counter()
        self.refuted: Counter[str] = Counter()
        self.left_out = 0
        self.budgets: dict[str, str] = {}
        self.sources: dict[str, set[str]] = defaultdict(set)
        self.identities: dict[str, set[str]] = defaultdict(set)
        self.uneven: set[str] = set()
        self.agents = sorted({tally.agent for tally in tallies if self._count(tally)})
        played = {env for _, env, _ in self._attempted()}
        self.envs = sorted(played)
        self.ranked_by: RankedBy = (
            "normalised score" if played and played <= scale.references.keys() else "mean rank"
        )

    def _count(self, tally: ScoreTally) -> bool:
        """Count a tally, and return whether its agent stands on the board for it."""
        if tally.verified == "failed":
            self.refuted[tally.agent] += tally.results
            return True
        if self.verified_only and tally.outcome == "infrastructure_fault":
            # There is nothing to verify; if it were not shown, leaving results out would pay.
            self.cells[tally.agent][tally.env].count(tally, lower=False)
            return False
        if self.verified_only and tally.verified != "verified":
            self.left_out += tally.results
            return False
        lower = self.scale.falls(tally.env)
        self.cells[tally.agent][tally.env].count(tally, lower)
        self.verified[tally.agent] += tally.results if tally.verified == "verified" else 0
        self.budgets[tally.env] = tally.budget
        self.identities[tally.agent] |= tally.identities
        self.uneven |= {tally.agent} if tally.is_uneven else set()
        if tally.source_hash is not None:
            self.sources[tally.env].add(tally.source_hash)
        worst = tally.highest if lower else tally.lowest
        if worst is not None:
            known = self.worst.get(tally.env, worst)
            self.worst[tally.env] = max(known, worst) if lower else min(known, worst)
        return True

    def _floor(self, env: str, cell: _Cell) -> float | None:
        """Return what a fault of an agent counts as in a task."""
        return fault_floor(
            declared=self.scale.floors.get(env),
            zero=self.scale.zero(env),
            own=() if cell.worst is None else (cell.worst,),
            seen=(self.worst[env],) if env in self.worst else (),
            lower=self.scale.falls(env),
        )

    def _attempted(self) -> Iterator[tuple[str, str, _Cell]]:
        """Iterate over agent, environment and cell where something tells about the agent."""
        for agent, own in self.cells.items():
            for env, cell in own.items():
                if cell.attempts:
                    yield agent, env, cell

    def board(self, limit: int | None) -> Leaderboard:
        values = self._normalised() if self.ranked_by == "normalised score" else self._ranks()
        means = {agent: fmean(found.values()) for agent, found in values.items()}
        sign = -1 if self.ranked_by == "normalised score" else 1

        def order(agent: str) -> tuple[int, float]:
            return -len(values.get(agent, ())), sign * means.get(agent, 0.0)

        rows: list[BoardRow] = []
        for index, agent in enumerate(sorted(self.agents, key=lambda agent: (order(agent), agent))):
            tied = bool(rows) and order(rows[-1].agent) == order(agent)
            position = rows[-1].position if tied else index + 1
            rows.append(self._row(position, agent, means.get(agent)))
        return Leaderboard(
            suite=self.first.suite,
            suite_digest=self.first.suite_digest,
            ranked_by=self.ranked_by,
            verified_only=self.verified_only,
            tasks=tuple(
                BoardTask(env, self.budgets[env], tuple(sorted(self.sources[env])))
                for env in self.envs
            ),
            agents=len(rows),
            results=sum(row.results for row in rows),
            rows=tuple(rows[:limit]),
            notes=tuple(self._all_notes(len(rows), limit)),
        )

    def _normalised(self) -> dict[str, dict[str, float]]:
        values: dict[str, dict[str, float]] = defaultdict(dict)
        for agent, env, cell in self._attempted():
            zero, one = self.scale.references[env]
            floor = self._floor(env, cell)
            values[agent][env] = (cell.mean(zero if floor is None else floor) - zero) / (one - zero)
        return values

    def _ranks(self) -> dict[str, dict[str, float]]:
        """Return ranks from 1, the best, by agent and task; equals share the mean of theirs.

        Of two with the same mean, the one with fewer faults is better.
        """
        values: dict[str, dict[str, float]] = defaultdict(dict)
        means: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
        for agent, env, cell in self._attempted():
            sign = 1 if self.scale.falls(env) else -1
            floor = self._floor(env, cell)
            mean = cell.mean(sign * inf if floor is None else floor)
            means[env][agent] = sign * mean, cell.agent_faults / cell.attempts
        for env, found in means.items():
            ordered = sorted(found.values())
            for agent, mark in found.items():
                first, last = bisect_left(ordered, mark), bisect_right(ordered, mark)
                values[agent][env] = (first + 1 + last) / 2
        return values

    def _lost(self, agent: str) -> int:
        return sum(cell.infrastructure_faults for cell in self.cells.get(agent, {}).values())

    def _row(self, position: int, agent: str, value: float | None) -> BoardRow:
        own = self.cells.get(agent, {})
        scored = sum(cell.scored for cell in own.values())
        spoilt = sum(cell.agent_faults for cell in own.values())
        broken = self._lost(agent)
        return BoardRow(
            position=position,
            agent=agent,
            value=value,
            tasks=sum(bool(cell.attempts) for cell in own.values()),
            results=scored + spoilt + broken,
            scored=scored,
            agent_faults=spoilt,
            infrastructure_faults=broken,
            verified=self.verified[agent],
            refuted=self.refuted[agent],
            scores=tuple(
                own[env].score(self._floor(env, own[env])) if env in own else None
                for env in self.envs
            ),
        )

    def _all_notes(self, rows: int, limit: int | None) -> Iterable[str]:
        yield from self.notes
        names = Counter(env.rpartition("-v")[0] for env in self.envs)
        several = [env for env in self.envs if names[env.rpartition("-v")[0]] > 1]
        if several:
            yield f"Versions differ, each is a task of its own: {_some(several)}."
        sources = [env for env in self.envs if len(self.sources[env]) > 1]
        if sources:
            yield f"Results come from several sources of the environment: {_some(sources)}."
        without = [env for env in self.envs if env not in self.scale.references]
        if self.scale.references and without:
            yield f"Ranked by mean rank, as there is no reference for {_some(without)}."
        unplayed = sorted({env for own in self.cells.values() for env in own} - set(self.envs))
        if unplayed:
            yield f"Only infrastructure faults, and so no task: {_some(unplayed)}."
        lost = {agent: self._lost(agent) for agent in self.agents if self._lost(agent)}
        if self.verified_only and lost:
            told = _some(f"{agent} {count}" for agent, count in lost.items())
            yield f"Infrastructure faults, which cannot be verified, leave out results: {told}."
        if self.left_out:
            yield f"{self.left_out} results are left out, as they are not verified."
        if self.refuted:
            yield f"{self.refuted.total()} results count nowhere: their verification failed."
        yield from self._doubts()
        if limit is not None and rows > limit:
            yield f"{limit} of {rows} agents are shown."

    def _doubts(self) -> Iterable[str]:
        """Say what may make an agent look better than it is."""
        from ludus.bench.verifying.completeness import departures

        yield from departures(
            self.first.suite,
            self.first.suite_digest,
            {env: (self.budgets[env],) for env in self.envs},
            {(agent, env): cell.attempts for agent, env, cell in self._attempted()},
        )
        if _is_named_like_bundled(self.first.suite, self.first.suite_digest):
            yield f"This is not the suite {self.first.suite} that comes with this Ludus."
        unknown = sorted(
            {
                env
                for _, env, cell in self._attempted()
                if cell.agent_faults
                and env not in self.scale.floors
                and env not in self.scale.references
            }
        )
        if unknown:
            yield (
                f"No floor and no reference are known for {_some(unknown)}: faults count there as "
                "the worst score that was seen."
            )
        most: Counter[str] = Counter()
        for _, env, cell in self._attempted():
            most[env] = max(most[env], cell.attempts)
        few = {agent for agent, env, cell in self._attempted() if cell.attempts < most[env]}
        if few:
            yield f"Fewer results than others have on some task: {_some(sorted(few))}."
        if self.uneven:
            yield f"Some units have more results than others of: {_some(sorted(self.uneven))}."
        merged = sorted(agent for agent, found in self.identities.items() if len(found) > 1)
        if merged:
            yield f"Different code or options under one name, in one row: {_some(merged)}."
        alike = [" and ".join(map(ascii, group[:3])) for group in lookalikes(self.agents)]
        if alike:
            yield f"Names that look alike are different agents here: {_some(alike)}."


def _is_named_like_bundled(suite: str, digest: str) -> bool:
    from ludus.bench.planning.suite import load_suite, suites

    return suite in suites() and load_suite(suite).digest != digest


def _some(names: Iterable[str], most: int = 5) -> str:
    found = list(names)
    rest = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + rest
