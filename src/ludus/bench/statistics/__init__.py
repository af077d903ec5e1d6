"""Figures that do not promise more than the runs behind them show.

NumPy only, pure functions, higher is better. See ``docs/statistics.md`` for what each means.
"""

from __future__ import annotations

from ludus.bench.statistics.aup import Aup, aup
from ludus.bench.statistics.bootstrap import (
    Estimate,
    Profile,
    bootstrap,
    estimate,
    number,
    performance_profile,
    profile_values,
)
from ludus.bench.statistics.gathering import (
    AgentScores,
    Counts,
    FaultPolicy,
    TaskScores,
    best_entries,
    gather,
)
from ludus.bench.statistics.normalise import Normalised, Reference, normalise, normalise_tasks
from ludus.bench.statistics.passing import Passing, pass_at_k, pass_every_k, passing
from ludus.bench.statistics.scores import (
    Scores,
    as_scores,
    iqm,
    mean,
    median,
    optimality_gap,
    probability_of_improvement,
)
from ludus.bench.statistics.summary import Summary, TaskSummary, summarise

__all__ = [
    "AgentScores",
    "Aup",
    "Counts",
    "Estimate",
    "FaultPolicy",
    "Normalised",
    "Passing",
    "Profile",
    "Reference",
    "Scores",
    "Summary",
    "TaskScores",
    "TaskSummary",
    "as_scores",
    "aup",
    "best_entries",
    "bootstrap",
    "estimate",
    "gather",
    "iqm",
    "mean",
    "median",
    "normalise",
    "normalise_tasks",
    "number",
    "optimality_gap",
    "pass_at_k",
    "pass_every_k",
    "passing",
    "performance_profile",
    "probability_of_improvement",
    "profile_values",
    "summarise",
]
