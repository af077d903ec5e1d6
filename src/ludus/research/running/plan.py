"""From tasks and agents to the units of a bench run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.planning.plan import BenchPlan, units_of
from ludus.bench.planning.suite import Suite, suite_from
from ludus.errors import ResearchError
from ludus.research.grading.draws import draw_kind
from ludus.research.running.options import EpisodeOptions, TaskRow
from ludus.research.task.discovery import BUNDLED
from ludus.research.task.task import Task

__all__ = ["SUITE", "make_units", "suite_of", "task_row"]

SUITE = "research"


def suite_of(tasks: Sequence[Task], options: EpisodeOptions, seeds: Sequence[int]) -> Suite:
    """Return tasks as a suite, with their scales from baseline to threshold and their floors.

    Raises:
        ResearchError: There are none, or two have one id.
        SuiteError: There are no seeds.
    """
    ids = [task.id for task in tasks]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if not tasks or twice:
        raise ResearchError(
            f"The task {twice[0]} is named twice." if twice else "There is no task to work on."
        )
    one = re.sub(r"[^a-z0-9]+", "-", ids[0].lower()).strip("-")
    return suite_from(
        {
            # Not "research": the suite of that name has other scores, those of environments.
            "name": f"{SUITE}-{one if len(tasks) == 1 else 'tasks'}",
            "title": "Research tasks" if len(tasks) > 1 else tasks[0].config.name,
            "seeds": list(seeds),
            "budget": {
                "episodes": 1,
                "max_steps": options.max_steps,
                "max_seconds": options.time_limit,
                "max_cost": options.cost_limit,
            },
            "environments": [_row(task, options) for task in tasks],
        },
        "the tasks",
    )


def make_units(suite: Suite, agents: Iterable[AgentSpec]) -> BenchPlan:
    """Return the units of a suite: for each seed, every agent on every task.

    Raises:
        ResearchError: There are no agents, or two have one name.
    """
    specs = tuple(agents)
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not specs or twice:
        raise ResearchError(
            f"Two agents are called {twice[0]}; rename one: other={twice[0]}."
            if twice
            else "There is no agent; name one."
        )
    return BenchPlan(suite, specs, units_of(suite, specs), ())


def task_row(task: Task) -> TaskRow:
    """Return how a run remembers a task."""
    bundled = task.file.is_relative_to(BUNDLED)
    return TaskRow(task=task.id if bundled else str(task.file), digest=task.digest())


def _row(task: Task, options: EpisodeOptions) -> dict[str, Any]:
    scores = task.config.evaluation
    # The digest makes scores of a changed task those of another suite.
    row: dict[str, Any] = {
        "id": task.env_id,
        "better": scores.direction,
        "kwargs": {"task_digest": task.digest()},
    }
    if draw_kind(options.draws) == "public":
        # Draws that can be foreseen make another suite: its scores meet no others on a board.
        row["kwargs"]["draws"] = "public"
    if options.max_steps is None:
        row["budget"] = {"max_steps": task.config.max_steps}
    if scores.baseline is not None:
        source = "baseline and threshold of the task"
        row["reference"] = {"min": scores.baseline, "max": scores.threshold, "source": source}
    if (floor := scores.scale.least) is not None:
        row["floor"] = floor
    return row
