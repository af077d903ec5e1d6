"""Everything a report tells, computed once from the results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np

from ludus.bench.outcome import LARGEST_SCORE
from ludus.bench.report.chart_frame import STYLES
from ludus.bench.result import Result
from ludus.bench.statistics.bootstrap import Estimate, bootstrap, has_spread, mean_estimates, tails
from ludus.bench.statistics.gathering import AgentScores, TaskScores, gather
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.scores import (
    FloatArray,
    Scores,
    iqm,
    joined,
    mean,
    median,
    optimality_gap,
)

__all__ = [
    "CONFIDENCE",
    "MEASURES",
    "Cell",
    "Facts",
    "ReferenceLike",
    "ResultCounts",
    "collect",
]

CONFIDENCE = 0.95
MEASURES = {"IQM": iqm, "Mean": mean, "Median": median, "Optimality gap": optimality_gap}
"""The aggregate measures by name; the first one ranks."""

ReferenceLike: TypeAlias = Any
"""A :class:`Reference`, a pair (score that counts as 0, score that counts as 1), or an object with
``min``, ``max`` and ``source``, such as a suite's."""

_NARROWEST = 1e-100
_RESAMPLES, _FEWEST, _DRAWS = 2000, 200, 40_000_000


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """How many results there are of each kind."""

    runs: int = 0
    scored: int = 0
    agent_fault: int = 0
    infrastructure_fault: int = 0
    verified: int = 0
    claimed: int = 0
    failed: int = 0

    @classmethod
    def of(cls, results: Sequence[Result]) -> ResultCounts:
        """Count."""
        counts: Counter[str] = Counter(one.outcome for one in results)
        counts.update(one.verified for one in results)
        return cls(runs=len(results), **counts)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One agent on one environment.

    Attributes:
        tally: Of all its runs.
        scores: What the runs that count count as; none if no run counts.
        mean: Of these scores; None where there are none.
        normalised: The mean on the scale of the environment's reference, where there is one.
        floor: What a fault of the agent counts as there, if that is known.
    """

    tally: ResultCounts
    scores: FloatArray
    mean: Estimate | None
    normalised: float | None
    floor: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known.

    Attributes:
        results: All of them.
        tally: Of all of them.
        agents: Best first.
        envs: In alphabetical order.
        cells: By environment and agent; pairs without any run are missing.
        references: Of those environments that have one.
        lower: Environments where lower scores are better.
        pools: Normalised scores of the agents that have one on every environment with a reference.
        figures: Aggregate measures of those agents, by agent and measure.
        upward: By agent and environment, runs turned so that higher is better, with the number of
            those that have a score of their own.
        tallies: By agent.
        resamples: How often every bootstrap was drawn.
        planned: How many results there should be, if that is known.
    """

    results: tuple[Result, ...]
    tally: ResultCounts
    agents: tuple[str, ...]
    envs: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    references: Mapping[str, Reference]
    lower: frozenset[str]
    pools: Mapping[str, Scores]
    figures: Mapping[str, Mapping[str, Estimate]]
    upward: Mapping[str, Mapping[str, tuple[FloatArray, int]]]
    tallies: Mapping[str, ResultCounts]
    resamples: int
    planned: int | None = None

    def style(self, agent: str) -> int:
        """The agent's place in the ranking, which is its style in every chart."""
        return min(self.agents.index(agent), STYLES)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The agents that have aggregate measures, best first."""
        return tuple(agent for agent in self.agents if agent in self.figures)


def collect(
    results: Iterable[Result],
    references: Mapping[str, ReferenceLike] | None = None,
    lower: Collection[str] = (),
    floors: Mapping[str, float] | None = None,
    planned: int | None = None,
) -> Facts:
    """Compute what a report tells.

    A result whose record failed its check counts in no figure, an agent's fault counts as the
    floor of its environment, an infrastructure fault not at all.

    Args:
        results: Of any number of agents.
        references: By environment id.
        lower: Environments where lower is better; needed for those without a reference.
        floors: By environment id, the least that a run counts as; needed where the reference is
            not a :class:`Reference` that has it.
        planned: How many results there should be.

    Raises:
        ValueError: A reference is not two different finite numbers.
    """
    kept = tuple(results)
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    by_agent: dict[str, list[Result]] = defaultdict(list)
    for result in kept:
        groups[result.env, result.agent].append(result)
        by_agent[result.agent].append(result)
    envs = tuple(sorted({env for env, _ in groups}))
    known = {
        env: _reference(env, one, (floors or {}).get(env))
        for env, one in (references or {}).items()
        if env in envs
    }
    unscaled = set(lower) - known.keys()
    counted = [result for result in kept if result.verified != "failed"]
    gathered = gather(counted, references=known, lower=unscaled, floors=floors)
    resamples = int(min(max(_DRAWS // max(len(kept), 1), _FEWEST), _RESAMPLES))
    pools = _pools(gathered, known)
    figures = {agent: _figures(pool, resamples) for agent, pool in pools.items()}
    upward = {agent: _upward(scores) for agent, scores in gathered.items()}
    return Facts(
        results=kept,
        tally=ResultCounts.of(kept),
        agents=_ranked(by_agent, figures, upward),
        envs=envs,
        cells=_cells(groups, gathered, resamples),
        references=known,
        lower=frozenset(unscaled | {e for e, one in known.items() if not one.higher_is_better}),
        pools=pools,
        figures=figures,
        upward=upward,
        tallies={agent: ResultCounts.of(group) for agent, group in by_agent.items()},
        resamples=resamples,
        planned=planned,
    )


def _upward(scores: AgentScores) -> dict[str, tuple[FloatArray, int]]:
    """Return, by environment, an agent's runs turned so that higher is better, and its own."""
    tasks = {env: scores.tasks[env] for env in scores.with_runs}
    return {env: (task.upward, task.counts.scored) for env, task in tasks.items()}


def _reference(env: str, given: ReferenceLike, floor: float | None) -> Reference:
    if isinstance(given, Reference):
        least = floor if given.floor is None else given.floor
        return _scale(env, replace(given, floor=least))
    pair = (given.min, given.max) if hasattr(given, "min") else tuple(given)
    if len(pair) != 2:
        raise ValueError(f"The reference of {env} has to be two scores; got {given!r}.")
    zero, one = map(float, pair)
    source = str(getattr(given, "source", ""))
    return _scale(env, Reference.between(zero, one, source, floor=floor))


def _scale(env: str, reference: Reference) -> Reference:
    largest = max(abs(reference.minimum), abs(reference.maximum))
    if largest > LARGEST_SCORE or reference.maximum - reference.minimum < _NARROWEST:
        raise ValueError(
            f"The reference of {env} is no scale: {reference}. Two scores are expected that differ "
            f"by {_NARROWEST:g} at least and lie within {LARGEST_SCORE:g} of 0."
        )
    return reference


def _cells(
    groups: Mapping[tuple[str, str], list[Result]],
    gathered: Mapping[str, AgentScores],
    resamples: int,
) -> dict[tuple[str, str], Cell]:
    tasks: dict[tuple[str, str], TaskScores | None] = {
        (env, agent): gathered[agent].tasks.get(env) if agent in gathered else None
        for env, agent in groups
    }
    scores = [np.empty(0) if task is None else task.runs for task in tasks.values()]
    own = [0 if task is None else task.counts.scored for task in tasks.values()]
    means = mean_estimates(scores, own, resamples=resamples, confidence=CONFIDENCE)
    cells = {}
    for (pair, task), runs, figure in zip(tasks.items(), scores, means, strict=True):
        scale = task.reference if task else None
        normalised = float(scale.scale(figure.value)) if scale and figure else None
        floor = task.floor if task else None
        cells[pair] = Cell(ResultCounts.of(groups[pair]), runs, figure, normalised, floor)
    return cells


def _pools(
    gathered: Mapping[str, AgentScores], references: Mapping[str, Reference]
) -> dict[str, Scores]:
    return {
        agent: joined(
            {
                env: (scale.scale(scores.tasks[env].runs), scores.tasks[env].counts.scored)
                for env, scale in references.items()
            }
        )
        for agent, scores in gathered.items()
        if references and references.keys() <= set(scores.with_runs)
    }


def _figures(pool: Scores, resamples: int) -> dict[str, Estimate]:
    def together(scores: Scores) -> FloatArray:
        return np.stack([measure(scores) for measure in MEASURES.values()], axis=-1)

    values = together(pool)
    ends: list[tuple[float | None, float | None]] = [(None, None)] * len(MEASURES)
    if has_spread(pool):
        draws = bootstrap(together, pool, resamples=resamples)
        ends = [(low, high) for low, high in np.quantile(draws, tails(CONFIDENCE), axis=0).T]
    return {
        name: Estimate(float(value), low, high, pool.values.size, CONFIDENCE)
        for name, value, (low, high) in zip(MEASURES, values, ends, strict=True)
    }


def _ranked(
    agents: Mapping[str, Sequence[Result]],
    figures: Mapping[str, Mapping[str, Estimate]],
    upward: Mapping[str, Mapping[str, tuple[FloatArray, int]]],
) -> tuple[str, ...]:
    """By IQM; those without one come after, by their mean rank over environments.

    Of two that are equal, the one that failed less often comes first.
    """
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for agent, tasks in upward.items():
        for env, (runs, _) in tasks.items():
            means[env][agent] = float(runs.mean())
    places: dict[str, list[int]] = defaultdict(list)
    for found in means.values():
        for place, agent in enumerate(sorted(found, key=lambda one: (-found[one], one))):
            places[agent].append(place)

    def standing(agent: str) -> tuple[bool, float, int, str]:
        faults = sum(one.outcome == "agent_fault" for one in agents[agent])
        if agent in figures:
            return False, -figures[agent]["IQM"].value, faults, agent
        return True, fmean(places[agent]) if agent in places else len(places), faults, agent

    return tuple(sorted(agents, key=standing))
