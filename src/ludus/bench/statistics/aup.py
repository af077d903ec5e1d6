"""AUP: the area under performance profiles of ratios to the best agent, for research tasks.

On each task an agent gets the ratio ``r`` between the best agent's score and its own (turned
over where lower is better), so that 1 is best. ``rho(tau)`` is the share of tasks on which
``log10 r ≤ tau``, and AUP the area under it from 0 to ``tau_max``: higher is better. An entry
that is infeasible (missing, negative, or worse than the baseline) reaches no threshold, so an agent
that fails everywhere has an AUP of 0. MLGym gives it 1.05 times the worst feasible ratio of its
task instead, which puts it close to the baseline; ``infeasible="penalty"`` computes that figure.
``tau_max`` is MLGym's in both cases.

Two weaknesses belong to the figure and are told with every value. Ratios are to the best of the
agents compared, and ``tau_max`` comes from their worst, so a value holds within its set only. And
a ratio of scores means nothing where one is zero or negative.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ludus.bench.result import Result
from ludus.bench.statistics.gathering import best_entries
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.scores import FloatArray

__all__ = [
    "BASELINE",
    "Aup",
    "AupTable",
    "Infeasible",
    "NonPositive",
    "ResearchAup",
    "aup",
    "research_aup",
]


BASELINE = "baseline"
"""How the baseline is called among the agents, unless one of them has the name."""
AupTable = Mapping[str, Mapping[str, float | None]]
Infeasible = Literal["never", "penalty"]
NonPositive = Literal["refuse", "infeasible", "omit"]

_PENALTY = 1.05
_LARGEST_RATIO = 1e300  # so that no tau_max overflows


@dataclass(frozen=True, slots=True, eq=False)
class Aup:
    """AUP of each agent, and everything it was made of.

    Attributes:
        values: AUP by agent.
        tau_max: where the area ends.
        taus: thresholds of the profiles.
        profiles: ``rho`` at each threshold, by agent.
        ratios: by agent and task; infinite where an entry is infeasible, unless it is penalised.
        infeasible: pairs of agent and task without a feasible score.
        tasks: that were counted.
        baseline: how the baseline is called among the agents; ``None`` if none was given.
        caveats: sentences that belong beside the values wherever they are shown.
    """

    values: dict[str, float]
    tau_max: float
    taus: FloatArray
    profiles: dict[str, FloatArray]
    ratios: dict[str, dict[str, float]]
    infeasible: frozenset[tuple[str, str]]
    tasks: tuple[str, ...]
    caveats: tuple[str, ...]
    baseline: str | None = None


def aup(
    table: AupTable,
    *,
    lower: Collection[str] = (),
    baseline: Mapping[str, float] | None = None,
    nonpositive: NonPositive = "refuse",
    infeasible: Infeasible = "never",
    tau_max: float | None = None,
    points: int = 500,
) -> Aup:
    """Compute AUP of every agent in a table of scores.

    Args:
        table: by agent, then by task; ``None``, NaN or no entry is a missing score.
        lower: tasks whose metric is better the lower it is.
        baseline: the baseline's score by task. It is compared like an agent, as ``"baseline"``
            (``"baseline (of the tasks)"`` if an agent has that name), and whoever is worse on a
            task is infeasible there.
        nonpositive: what to do where a score is zero or negative, so that no ratio exists:
            ``"refuse"``; ``"infeasible"``, as MLGym does, for tasks where higher is better; or
            ``"omit"`` the task for all agents. The last two are told in the caveats.
        infeasible: ``"never"`` if such entries reach no threshold; ``"penalty"`` for MLGym's
            figure.
        tau_max: where the area ends; by default what the worst ratio asks for.
        points: thresholds from 0 to ``tau_max``, of which the left Riemann sum is taken.

    Raises:
        ValueError: if nothing is left to compare, or a zero or negative score is met and not
            dealt with; the message names agent and task, and the ways out.
    """
    _check_options(nonpositive, infeasible, tau_max, points)
    rows = {agent: dict(scores) for agent, scores in table.items()}
    name = None if baseline is None else _free_name(rows)
    if name is not None:
        rows[name] = dict(baseline or {})
    less, floor = {lower} if isinstance(lower, str) else set(lower), baseline or {}
    names = dict.fromkeys(task for scores in rows.values() for task in scores)
    columns = {task: _Column(task, rows, task in less, floor.get(task)) for task in names}
    kept, caveats = _admit(columns, nonpositive)
    ratios = {
        task: column.ratios(column.penalty if infeasible == "penalty" else math.inf)
        for task, column in kept.items()
    }
    end = tau_max if tau_max is not None else _tau_max(kept.values())
    taus = np.linspace(0.0, end, points)
    logs = {agent: np.log10([ratios[task][agent] for task in kept]) for agent in rows}
    profiles = {agent: (log[:, None] <= taus).mean(axis=0) for agent, log in logs.items()}
    step = end / (points - 1)
    failed = {(agent, task) for task, one in kept.items() for agent in one.infeasible}
    return Aup(
        values={agent: float(rho[:-1].sum() * step) for agent, rho in profiles.items()},
        tau_max=float(end),
        taus=taus,
        profiles=profiles,
        ratios={agent: {task: ratios[task][agent] for task in kept} for agent in rows},
        infeasible=frozenset(failed),
        tasks=tuple(kept),
        caveats=(_portability(rows, end, given=tau_max is not None), *caveats),
        baseline=name,
    )


def _check_options(
    nonpositive: NonPositive, infeasible: Infeasible, tau_max: float | None, points: int
) -> None:
    end_is_right = tau_max is None or 0 < tau_max < math.inf
    words_are_right = nonpositive in get_args(NonPositive) and infeasible in get_args(Infeasible)
    if not (words_are_right and points >= 2 and end_is_right):
        raise ValueError(
            f"aup takes nonpositive from {get_args(NonPositive)}, infeasible from "
            f"{get_args(Infeasible)}, points of at least 2 and a positive tau_max; got "
            f"{nonpositive!r}, {infeasible!r}, {points} and {tau_max}."
        )


def _free_name(taken: Collection[str]) -> str:
    name = BASELINE
    while name in taken:
        name += " (of the tasks)"
    return name


class _Column:
    """One task: who is feasible, and whose score admits no ratio."""

    def __init__(
        self,
        task: str,
        rows: Mapping[str, Mapping[str, float | None]],
        lower: bool,
        baseline: float | None,
    ) -> None:
        self.task, self.lower = task, lower
        scores = {agent: row.get(task) for agent, row in rows.items()}
        present = {a: float(s) for a, s in scores.items() if s is not None and not math.isnan(s)}
        if any(map(math.isinf, present.values())):
            raise ValueError(f"A score on {task} is infinite; give None for a missing score.")
        enough = {a: s for a, s in present.items() if not self._worse(s, baseline)}
        # Of a score that is worse than the baseline no ratio is asked, whatever its sign.
        self.improper = {agent: score for agent, score in enough.items() if score <= 0}
        self.feasible = {agent: score for agent, score in enough.items() if score > 0}
        self.infeasible = [agent for agent in rows if agent not in self.feasible]

    @property
    def penalty(self) -> float:
        ratio = max(self.feasible.values()) / min(self.feasible.values())
        return _PENALTY * min(ratio, _LARGEST_RATIO)

    def ratios(self, infeasible: float) -> dict[str, float]:
        scores = self.feasible
        best = min(scores.values()) if self.lower else max(scores.values())
        ratios = {a: s / best if self.lower else best / s for a, s in scores.items()}
        return ratios | dict.fromkeys(self.infeasible, infeasible)

    def _worse(self, score: float, baseline: float | None) -> bool:
        if baseline is None:
            return False
        return score > baseline if self.lower else score < baseline


def _admit(
    columns: Mapping[str, _Column], nonpositive: NonPositive
) -> tuple[dict[str, _Column], list[str]]:
    """Pick the tasks on which ratios exist; say what happened to the others."""
    kept, caveats = {}, []
    for task, column in columns.items():
        who = ", ".join(f"{a} with {s:g}" for a, s in column.improper.items())
        penalised = nonpositive == "infeasible" and not column.lower
        if who and nonpositive == "omit":
            caveats.append(f"{task} is left out: no ratio exists to zero or negative ({who}).")
        elif who and not penalised:
            raise ValueError(_refusal(column, who))
        elif not column.feasible:
            if nonpositive != "omit":
                raise ValueError(
                    f"No agent has a feasible score on {task}, so it has no best to take ratios "
                    f"to; leave the task out, or say nonpositive='omit'."
                )
            caveats.append(f"{task} is left out: no agent has a feasible score.")
        else:
            kept[task] = column
            if who:
                caveats.append(f"{task}: zero or negative scores count as infeasible ({who}).")
    if not kept:
        raise ValueError("AUP needs at least one agent with a feasible score on one task.")
    return kept, caveats


def _refusal(column: _Column, who: str) -> str:
    ways = "nonpositive='omit' leaves the task out for all agents"
    if column.lower:
        ways += "; 'infeasible' is not offered here, as it would punish the best score of all"
    else:
        ways += "; nonpositive='infeasible' counts such scores as failures, as MLGym does"
    return (
        f"AUP compares by ratio, and none exists to a zero or negative score: {column.task} has "
        f"{who}. Give the metric on a positive scale, or choose: {ways}."
    )


def _tau_max(columns: Collection[_Column]) -> float:
    largest = max(math.ceil(column.penalty) for column in columns)
    return math.ceil(10 * math.log10(largest)) / 10


def _portability(rows: Collection[str], end: float, *, given: bool) -> str:
    fixed = "was given" if given else "comes from the worst of them"
    return (
        f"AUP holds within these {len(rows)} agents only: ratios are to the best of them, and "
        f"tau_max = {end:g} {fixed}."
    )


Entry = Literal["attempt", "submission"]

_WAYS: tuple[NonPositive, ...] = ("infeasible", "omit")


@dataclass(frozen=True, slots=True)
class ResearchAup:
    """AUP of best attempts and of best submissions; ``caveats`` belong beside both."""

    attempt: Aup
    submission: Aup
    caveats: tuple[str, ...]


def research_aup(
    results: Iterable[Result], *, references: Mapping[str, Reference], lower: Collection[str]
) -> ResearchAup | None:
    """Compute AUP of all agents, with the tasks' baselines beside them.

    A fault is a missing entry. Zero and negative scores are infeasible, as in MLGym; where that
    would punish the best score, the task is left out.

    Args:
        results: Of research tasks.
        references: By environment id; the score that becomes 0 is the baseline's.
        lower: Tasks whose metric is better the lower it is.

    Returns:
        ``None`` if no task has a feasible score.
    """
    kept = list(results)
    less = {*lower, *(env for env, one in references.items() if not one.higher_is_better)}
    baseline = {
        env: references[env].worst for env in {one.env for one in kept} if env in references
    }
    found: dict[Entry, Aup] = {}
    caveats: dict[str, None] = {}
    for entry in ("submission", "attempt"):
        table, told = best_entries(kept, entry=entry, lower=less)
        for way in _WAYS:
            try:
                made = aup(table, lower=less, baseline=baseline or None, nonpositive=way)
            except ValueError:
                continue
            found[entry] = made
            caveats |= dict.fromkeys((*made.caveats, *told))
            break
    if len(found) < 2:
        return None
    return ResearchAup(found["attempt"], found["submission"], tuple(caveats))
