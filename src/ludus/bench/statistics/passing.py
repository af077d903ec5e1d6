"""pass@k and pass^k: how likely at least one, or every one, of k runs reaches a task's threshold.

Of ``n`` runs of a task, ``c`` of them successes, the unbiased estimates are the shares of subsets
of ``k`` runs with at least one success, and with nothing else::

    pass@k = 1 - C(n - c, k) / C(n, k)        pass^k = C(c, k) / C(n, k)

Over tasks, both are means. Intervals are those of Jeffreys' prior: the chance of success on each
task is drawn from Beta(c + 1/2, n - c + 1/2), so there is an interval where all runs succeed or
all fail, which is when a bootstrap has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from ludus.bench.outcome import without_copies
from ludus.bench.result import Result
from ludus.bench.statistics.bootstrap import Estimate, tails
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.scores import FloatArray

__all__ = ["Passing", "Trials", "is_success", "pass_at_k", "pass_every_k", "passing", "usual_ks"]

_DRAWS = 20_000


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate that at least one of ``k`` runs succeeds.

    Args:
        n: Runs.
        c: Successes among them.
        k: At most ``n``.

    Raises:
        ValueError: The numbers do not fit together.
    """
    _check(n, c, k)
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_every_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate that all of ``k`` runs succeed: pass^k.

    Raises:
        ValueError: The numbers do not fit together.
    """
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not (1 <= k <= n and 0 <= c <= n):
        raise ValueError(f"Expected 1 <= k <= n and 0 <= c <= n; got n={n}, c={c}, k={k}.")


def is_success(result: Result, references: Mapping[str, Reference]) -> bool | None:
    """Tell whether a run reaches the threshold of its task, which counts as 1.

    ``None`` if nobody can tell: for an infrastructure fault, or without a threshold. A fault of the
    agent is no success.
    """
    scale, told = references.get(result.env), result.extra.get("normalised")
    # Without a baseline a task has no reference; its scale is 1 at the threshold or beyond, else 0.
    known = scale is not None or isinstance(told, float)
    if not known or result.outcome == "infrastructure_fault":
        return None
    if result.outcome != "scored" or result.score is None:
        return False
    if scale is None:
        return told == 1.0
    better = result.score - scale.best
    return better >= 0 if scale.higher_is_better else better <= 0


@dataclass(frozen=True, slots=True)
class Trials:
    """Runs of one agent on one task.

    Attributes:
        env: Id of the environment.
        runs: Those that count: all but infrastructure faults and failed verifications.
        successes: Of these.
        verified: Of the successes, those that are verified; the others are claims.
    """

    env: str
    runs: int
    successes: int
    verified: int = 0


@dataclass(frozen=True, slots=True)
class Passing:
    """One agent's figures.

    Attributes:
        agent: Its name.
        tasks: Sorted by environment.
        at: pass@k over all tasks, by k; only where every task has k runs. A task that others have
            tried and the agent has no run of has none, so that leaving it out raises nothing.
        every: pass^k, likewise.
    """

    agent: str
    tasks: tuple[Trials, ...]
    at: Mapping[int, Estimate]
    every: Mapping[int, Estimate]

    @property
    def runs(self) -> int:
        """Of all tasks."""
        return sum(task.runs for task in self.tasks)

    @property
    def successes(self) -> int:
        """Of all tasks."""
        return sum(task.successes for task in self.tasks)

    @property
    def verified(self) -> int:
        """Of the successes on all tasks."""
        return sum(task.verified for task in self.tasks)

    def of(self, env: str) -> Passing:
        """Return the figures of a single task."""
        return _figures(self.agent, [task for task in self.tasks if task.env == env], 0.95, 0)


def passing(
    results: Iterable[Result],
    references: Mapping[str, Reference],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Passing]:
    """Return pass@k and pass^k of each agent, by its name.

    Agents without a run that counts are missing, as are tasks without a threshold. A success that
    is a copy of another one, see :func:`~ludus.bench.outcome.without_copies`, counts once; what
    fails again and again counts each time.

    Args:
        results: Of any number of agents and runs.
        references: Scales of the tasks; a task's threshold counts as 1.
        confidence: Of the intervals.
        seed: Of their draws.
    """
    found = list(results)
    distinct = {id(one) for one in without_copies(found)}
    trials: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    envs: set[str] = set()
    solved: set[int] = set()
    for one in found:
        if one.env in references or isinstance(one.extra.get("normalised"), float):
            envs.add(one.env)
        success = None if one.verified == "failed" else is_success(one, references)
        if success is None or (success and id(one) not in distinct):
            continue
        trials[one.agent][one.env].append(one)
        if success:
            solved.add(id(one))

    def tried(env: str, runs: Sequence[Result]) -> Trials:
        good = [one for one in runs if id(one) in solved]
        verified = sum(one.verified == "verified" for one in good)
        return Trials(env, len(runs), len(good), verified)

    return {
        agent: _figures(
            agent,
            [tried(env, tasks.get(env, ())) for env in sorted(envs | tasks.keys())],
            confidence,
            seed,
        )
        for agent, tasks in sorted(trials.items())
    }


def usual_ks(most: int) -> list[int]:
    """Return the values of k to show: powers of two, and the number of runs itself."""
    return sorted({1 << power for power in range(most.bit_length())} | {most}) if most else []


def _figures(agent: str, tasks: Sequence[Trials], confidence: float, seed: int) -> Passing:
    least = min((task.runs for task in tasks), default=0)
    rng = np.random.default_rng(seed)
    chances = [
        rng.beta(task.successes + 0.5, task.runs - task.successes + 0.5, _DRAWS) for task in tasks
    ]
    count = sum(task.runs for task in tasks)

    def estimate(values: list[float], drawn: list[FloatArray]) -> Estimate:
        value = float(np.mean(values))
        low, high = np.quantile(np.mean(drawn, axis=0), tails(confidence))
        if count == 1:
            return Estimate(value, None, None, 1, confidence)
        # The estimate of few runs may lie at 0 or 1, which no draw reaches.
        return Estimate(value, min(float(low), value), max(float(high), value), count, confidence)

    at, every = {}, {}
    for k in usual_ks(least):
        numbers = [(task.runs, task.successes, k) for task in tasks]
        at[k] = estimate([pass_at_k(*one) for one in numbers], [1 - (1 - p) ** k for p in chances])
        every[k] = estimate([pass_every_k(*one) for one in numbers], [p**k for p in chances])
    return Passing(agent, tuple(tasks), at, every)
