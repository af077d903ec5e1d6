"""Two agents, or two runs of one, side by side; refused where the figures would mislead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ludus.bench.comparing.comparability import WORDS, objections, paired_tasks
from ludus.bench.result import Result
from ludus.bench.statistics.bootstrap import NOTHING, Estimate, Seed, estimate
from ludus.bench.statistics.gathering import AgentScores, Counts, FaultPolicy, TaskScores, gather
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.scores import (
    FloatArray,
    Scores,
    ScoresLike,
    iqm,
    joined,
    mean,
    probability_of_improvement,
)
from ludus.errors import ComparisonRefused

__all__ = ["Comparison", "Side", "TaskComparison", "compare"]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two.

    Attributes:
        label: how tables call it: the agent, with its run where both are the same agent.
        agent: its name.
        runs: bench runs that its results come from.
        counts: its denominator, over the tasks that are compared.
    """

    label: str
    agent: str
    runs: tuple[str, ...]
    counts: Counts


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """Both on one task, in the task's own unit.

    Attributes:
        env: id of the environment; both ids where versions are mixed.
        a: mean of the first over its runs.
        b: mean of the second.
        difference: of the means, first minus second.
        improvement: probability that a run of the first beats one of the second.
        counts_a: denominator of the first.
        counts_b: denominator of the second.
        reference: the task's minimum and maximum, if known.
        higher_is_better: whether a positive difference speaks for the first.
    """

    env: str
    a: Estimate
    b: Estimate
    difference: Estimate
    improvement: Estimate
    counts_a: Counts
    counts_b: Counts
    reference: Reference | None
    higher_is_better: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What can be said about two agents, and what has to be said with it.

    Attributes:
        a: the first.
        b: the second.
        tasks: that both have.
        iqm_a: over all tasks; ``None`` where scales differ and a task has no reference, as the
            next two.
        iqm_b: of the second.
        iqm_difference: first minus second, on the references' scales, where higher is better, or
            in the only task's own unit.
        improvement: probability that a run of the first beats one of the second on a random task.
        allowed: objections that were overruled, by their word.
        caveats: what has to be said beside the figures, those objections included.
    """

    a: Side
    b: Side
    tasks: tuple[TaskComparison, ...]
    iqm_a: Estimate | None
    iqm_b: Estimate | None
    iqm_difference: Estimate | None
    improvement: Estimate
    allowed: Mapping[str, str]
    caveats: tuple[str, ...]

    def cells(self) -> list[tuple[str, ...]]:
        """Give the comparison as rows of text, the heading first, the line over all tasks last."""
        heading = ("environment", self.a.label, self.b.label, "difference", "P(first > second)")
        rows = [(t.env, *map(str, (t.a, t.b, t.difference, t.improvement))) for t in self.tasks]
        overall = (self.iqm_a, self.iqm_b, self.iqm_difference)
        texts = (NOTHING if one is None else str(one) for one in overall)
        return [heading, *rows, ("all (IQM)", *texts, str(self.improvement))]


def compare(
    a: Iterable[Result],
    b: Iterable[Result],
    *,
    allow: Collection[str] = (),
    references: Mapping[str, Reference] | None = None,
    lower: Collection[str] = (),
    floors: Mapping[str, float] | None = None,
    faults: FaultPolicy = "worst",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: Seed = 0,
) -> Comparison:
    """Compare the results of one agent with those of another, or with another run of its own.

    Args:
        a: results of the first, of one agent.
        b: results of the second, of one agent.
        allow: objections to overrule: ``suites``, ``versions``, ``budgets``, ``tasks``, ``seeds``,
            ``duplicates``, ``claimed``, ``failed``. Each is stated in the caveats. ``failed``
            (records that failed verification) is not part of ``claimed``.
        references: scale of each task, by environment id, with its floor.
        lower: tasks where lower is better; needed for those without a reference only.
        floors: floors of tasks without a reference.
        faults: how agents' faults count, see :func:`~ludus.bench.statistics.gather`.
        confidence: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ComparisonRefused: with every objection that was not allowed, and how to ask anyway.
        ValueError: if a side has no results or several agents, or ``allow`` has unknown words.
    """
    words = {allow} if isinstance(allow, str) else set(allow)
    if unknown := words - set(WORDS):
        raise ValueError(f"Nothing is called {sorted(unknown)}; allow takes {', '.join(WORDS)}.")
    sides = list(a), list(b)
    labels = _labels(*sides)
    found = objections(*sides)
    _refuse({word: reason for word, reason in found.items() if word not in words})
    scores = _gather(sides, labels, references or {}, lower, floors or {}, faults)
    figure = partial(estimate, confidence=confidence, resamples=resamples, seed=seed)
    common, left_out = _common(*scores)
    pairs = [(scores[0].tasks[env], scores[1].tasks[env]) for env in common]
    overall, unscaled = _overall(pairs, figure)
    return Comparison(
        a=_side(labels[0], sides[0], [task.counts for task, _ in pairs]),
        b=_side(labels[1], sides[1], [task.counts for _, task in pairs]),
        tasks=tuple(_compare_task(*pair, figure) for pair in pairs),
        improvement=figure(probability_of_improvement, *_upward(pairs)),
        allowed=found,
        caveats=(
            *(f"Allowed: {reason}." for reason in found.values()),
            *left_out,
            *scores[0].caveats,
            *scores[1].caveats,
            *unscaled,
        ),
        **overall,
    )


def _only_agent(results: Sequence[Result], which: str) -> str:
    agents = sorted({result.agent for result in results})
    if len(agents) != 1:
        raise ValueError(
            f"The {which} side has to be the results of one agent; got "
            f"{', '.join(agents) or 'no results'}. Pick those of one agent and run."
        )
    return agents[0]


def _refuse(reasons: dict[str, str]) -> None:
    if not reasons:
        return
    listed = "".join(f"\n- {reason} (word: {word})" for word, reason in reasons.items())
    raise ComparisonRefused(
        f"The results are not comparable:{listed}\nTo compare them anyway, with this stated, "
        f"allow by word: {', '.join(reasons)}.",
        reasons=reasons,
    )


def _gather(
    sides: tuple[Sequence[Result], Sequence[Result]],
    labels: tuple[str, str],
    references: Mapping[str, Reference],
    lower: Collection[str],
    floors: Mapping[str, float],
    faults: FaultPolicy,
) -> tuple[AgentScores, AgentScores]:
    """Gather both together, so that a fault costs both the same; mixed versions become a task."""
    names = paired_tasks(*sides)
    less = {*lower, *(env for env, ref in references.items() if not ref.higher_is_better)}
    renamed = [
        replace(result, agent=label, env=names[result.env])
        for label, side in zip(labels, sides, strict=True)
        for result in side
    ]
    gathered = gather(
        renamed,
        references={env: ref for env, ref in references.items() if names.get(env) == env},
        lower={names[env] for env in less & names.keys()},
        floors={env: floor for env, floor in floors.items() if names.get(env) == env},
        faults=faults,
    )
    return gathered[labels[0]], gathered[labels[1]]


def _common(a: AgentScores, b: AgentScores) -> tuple[list[str], list[str]]:
    """Tasks on which both have a run that counts, and a sentence about the others."""
    first, second = set(a.with_runs), set(b.with_runs)
    if not first & second:
        raise ComparisonRefused("The two have no task in common on which both have a run.")
    others = sorted((a.tasks.keys() | b.tasks.keys()) - (first & second))
    told = [f"Not compared, as one of the two has no run that counts: {', '.join(others)}."]
    return sorted(first & second), told if others else []


def _compare_task(a: TaskScores, b: TaskScores, figure: partial[Estimate]) -> TaskComparison:
    first, second = a.as_scores(), b.as_scores()
    upward = a.as_scores(a.upward), b.as_scores(b.upward)
    return TaskComparison(
        env=a.env,
        a=figure(mean, first),
        b=figure(mean, second),
        difference=figure(_mean_difference, first, second),
        improvement=figure(probability_of_improvement, *upward),
        counts_a=a.counts,
        counts_b=b.counts,
        reference=a.reference,
        higher_is_better=a.higher_is_better,
    )


def _overall(
    pairs: Sequence[tuple[TaskScores, TaskScores]], figure: partial[Estimate]
) -> tuple[dict[str, Estimate | None], list[str]]:
    """IQM of both and their difference, where one scale holds for all tasks."""
    names = ("iqm_a", "iqm_b", "iqm_difference")
    unscaled = [task.env for task, _ in pairs if not task.reference]
    if not unscaled:
        a, b = (_joined(side, _normalised) for side in zip(*pairs, strict=True))
    elif len(pairs) == 1:
        a, b = (task.as_scores() for task in pairs[0])
    else:
        lacking = ", ".join(unscaled)
        caveat = f"No IQM over all tasks: no reference minimum and maximum for {lacking}."
        return dict.fromkeys(names), [caveat]
    figures = figure(iqm, a), figure(iqm, b), figure(_iqm_difference, a, b)
    return dict(zip(names, figures, strict=True)), []


def _upward(pairs: Sequence[tuple[TaskScores, TaskScores]]) -> list[Scores]:
    return [_joined(side, lambda task: task.upward) for side in zip(*pairs, strict=True)]


def _joined(side: Sequence[TaskScores], values: Callable[[TaskScores], FloatArray]) -> Scores:
    return joined({task.env: (values(task), task.counts.scored) for task in side})


def _normalised(task: TaskScores) -> FloatArray:
    return task.runs if task.reference is None else task.reference.scale(task.runs)


def _labels(first: Sequence[Result], second: Sequence[Result]) -> tuple[str, str]:
    a, b = _only_agent(first, "first"), _only_agent(second, "second")
    if a == b:
        a, b = (f"{a} ({', '.join(_runs(side))})" for side in (first, second))
    return (a, b) if a != b else (f"{a}, first", f"{b}, second")


def _runs(results: Sequence[Result]) -> tuple[str, ...]:
    return tuple(sorted({result.run for result in results}))


def _side(label: str, results: Sequence[Result], counts: Sequence[Counts]) -> Side:
    return Side(label, results[0].agent, _runs(results), sum(counts, Counts()))


def _mean_difference(a: ScoresLike, b: ScoresLike) -> FloatArray:
    return np.asarray(mean(a) - mean(b))


def _iqm_difference(a: ScoresLike, b: ScoresLike) -> FloatArray:
    return np.asarray(iqm(a) - iqm(b))
