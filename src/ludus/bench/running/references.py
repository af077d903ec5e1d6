"""Measures the reference scores of a suite with random agents and reference agents.

The numbers in the suites that come with Ludus were made by ``ludus bench references SUITE``, and
can be made again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ludus.bench.agents.reference import has_reference
from ludus.bench.agents.spec import AgentSpec
from ludus.bench.planning.plan import Unit, missing_environments
from ludus.bench.planning.suite import Environment, Suite
from ludus.bench.running.play import UnitTally, play

__all__ = ["FIRST_SEED", "Measured", "measure"]

FIRST_SEED = 1_000_000
"""Seeds of measurements begin here, far from those of suites."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The mean score of the two agents over units of the suite's own budget.

    Attributes:
        env: Id of the environment.
        units: How many units were played by each.
        random: Score of the random agent.
        heuristic: Score of the reference agent, ``None`` if there is none.
        optimum: Of environments with a table: the best that can be expected, from the table.
    """

    env: str
    units: int
    random: float
    heuristic: float | None
    optimum: float | None


def measure(suite: Suite, *, units: int = 20) -> Iterator[Measured]:
    """Measure every registered environment of a suite, with so many ``units`` of each agent."""
    missing = {one.env for one in missing_environments(suite)}
    for row in suite.environments:
        if row.id in missing:
            continue
        heuristic = _mean(suite, row, "heuristic", units) if has_reference(row.id) else None
        yield Measured(
            row.id, units, _mean(suite, row, "random", units), heuristic, _optimum(suite, row)
        )


def _mean(suite: Suite, row: Environment, agent: str, units: int) -> float:
    scores = []
    for seed in range(FIRST_SEED, FIRST_SEED + units):
        unit, tally = _unit(suite, row, agent, seed), UnitTally()
        with unit.make_env() as env:
            play(unit, env, tally)
        scores.append(math.fsum(tally.returns) / len(tally.returns))
    return math.fsum(scores) / units


def _optimum(suite: Suite, row: Environment) -> float | None:
    from ludus.bench.agents.reference.small_games import PlanningAgent, solve

    with _unit(suite, row, "random", FIRST_SEED).make_env() as env:
        table = getattr(env.unwrapped, "P", None)
        if table is None:
            return None
        _, value = solve(table, env.spec.max_episode_steps or PlanningAgent.HORIZON)
        return float(value @ env.unwrapped.initial_state_distrib)


def _unit(suite: Suite, row: Environment, agent: str, seed: int) -> Unit:
    return Unit(
        suite=suite.name,
        suite_digest=suite.digest,
        agent=AgentSpec(agent, agent),
        env=row.id,
        seed=seed,
        budget=suite.budget_of(row),
        kwargs=row.kwargs,
        max_episode_steps=row.max_episode_steps,
    )
