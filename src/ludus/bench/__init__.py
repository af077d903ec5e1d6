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
    from ludus.bench.budget import Budget, Limits
    from ludus.bench.comparison import Comparison, compare
    from ludus.bench.engine import Engine
    from ludus.bench.folder import BenchFolder
    from ludus.bench.plan import Plan, make_plan
    from ludus.bench.report import write_report
    from ludus.bench.result import Result
    from ludus.bench.runner import BenchRun, Settings, resume_run, run_suite
    from ludus.bench.store import open_store
    from ludus.bench.suite import Suite, load_suite, suites
    from ludus.bench.verification import verify_run

__all__ = [
    "Agent",
    "AgentSpec",
    "BatchAgent",
    "BenchFolder",
    "BenchRun",
    "Budget",
    "Comparison",
    "Engine",
    "Limits",
    "Plan",
    "Result",
    "Settings",
    "Suite",
    "compare",
    "load_suite",
    "make_plan",
    "open_store",
    "parse_agent",
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
    **dict.fromkeys(("Budget", "Limits"), "budget"),
    **dict.fromkeys(("Comparison", "compare"), "comparison"),
    "Engine": "engine",
    "BenchFolder": "folder",
    **dict.fromkeys(("Plan", "make_plan"), "plan"),
    "write_report": "report",
    "Result": "result",
    **dict.fromkeys(("BenchRun", "Settings", "resume_run", "run_suite"), "runner"),
    "open_store": "store",
    **dict.fromkeys(("Suite", "load_suite", "suites"), "suite"),
    "verify_run": "verification",
}

__getattr__ = lazy_names(__name__, _MODULES)
