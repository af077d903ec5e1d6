"""Benchmarks: suites of environments, agents, runs that can be resumed, results to be checked.

::

    from ludus.bench import run_suite

    done = run_suite("classic", ["random", "heuristic"], out="runs/first")

What is named here loads when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.bench.agents import Agent, AgentSpec, BatchAgent, parse_agent, reference_agent
    from ludus.bench.comparing.comparison import Comparison, compare
    from ludus.bench.engines import Engine
    from ludus.bench.outcome import counted_score, normalised_score
    from ludus.bench.planning.budget import Budget, RunLimits
    from ludus.bench.planning.budget import RunLimits as Limits
    from ludus.bench.planning.plan import BenchPlan, make_plan
    from ludus.bench.planning.plan import BenchPlan as Plan
    from ludus.bench.planning.suite import Suite, load_suite, parse_suite, suites
    from ludus.bench.report import write_report
    from ludus.bench.result import Result
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.running.runner import BenchRun, RunSettings, resume_run, run_suite
    from ludus.bench.running.runner import RunSettings as Settings
    from ludus.bench.store import open_store
    from ludus.bench.verifying.verification import verify_run

__all__ = [
    "Agent",
    "AgentSpec",
    "BatchAgent",
    "BenchFolder",
    "BenchPlan",
    "BenchRun",
    "Budget",
    "Comparison",
    "Engine",
    "Limits",
    "Plan",
    "Result",
    "RunLimits",
    "RunSettings",
    "Settings",
    "Suite",
    "compare",
    "counted_score",
    "load_suite",
    "make_plan",
    "normalised_score",
    "open_store",
    "parse_agent",
    "parse_suite",
    "reference_agent",
    "resume_run",
    "run_suite",
    "suites",
    "verify_run",
    "write_report",
]

_MODULES = {
    **dict.fromkeys(("Agent", "AgentSpec", "BatchAgent", "parse_agent"), "agents"),
    "reference_agent": "agents",
    **dict.fromkeys(("Budget", "RunLimits"), "planning.budget"),
    **dict.fromkeys(("Comparison", "compare"), "comparing.comparison"),
    **dict.fromkeys(("counted_score", "normalised_score"), "outcome"),
    "Engine": "engines",
    "BenchFolder": "running.folder",
    **dict.fromkeys(("BenchPlan", "make_plan"), "planning.plan"),
    "write_report": "report",
    "Result": "result",
    **dict.fromkeys(("BenchRun", "RunSettings", "resume_run", "run_suite"), "running.runner"),
    "open_store": "store",
    **dict.fromkeys(("Suite", "load_suite", "parse_suite", "suites"), "planning.suite"),
    "verify_run": "verifying.verification",
    # Old names.
    "Limits": "planning.budget:RunLimits",
    "Plan": "planning.plan:BenchPlan",
    "Settings": "running.runner:RunSettings",
}

__getattr__ = lazy_names(__name__, _MODULES)
