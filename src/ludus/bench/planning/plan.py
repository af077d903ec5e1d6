"""Units of work (one agent, environment, seed and budget), and the plan of a suite."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from ludus.bench.agents.reference import has_reference
from ludus.bench.agents.spec import AgentSpec, parse_agent
from ludus.bench.faults import one_line
from ludus.bench.planning.budget import Budget
from ludus.bench.planning.suite import Environment, Suite, env_id_of
from ludus.errors import BenchError, Error
from ludus.registration.lookup import find_spec
from ludus.registration.lookup import spec as spec_of
from ludus.registration.make_env import make
from ludus.registration.make_vec_env import make_vec
from ludus.seeding import derive_seed

__all__ = ["BenchPlan", "Missing", "Unit", "id_of", "make_plan", "missing_environments", "units_of"]


@dataclass(frozen=True)
class Unit:
    """One unit of work. The same unit gives the same score, bit for bit.

    Attributes:
        suite: Name of the suite.
        suite_digest: Hash of its content.
        agent: The agent.
        env: Full id, with version; perhaps with a module in front that registers it.
        kwargs: Passed to ``make``.
        max_episode_steps: Another time limit than the registered one.
        seed: All random numbers derive from it.
        budget: What is played, and what may be spent.
    """

    suite: str
    suite_digest: str
    agent: AgentSpec
    env: str
    seed: int
    budget: Budget
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    max_episode_steps: int | None = None

    @cached_property
    def id(self) -> str:
        """32 hexadecimal digits; the same for the same work."""
        return id_of(self.identity())

    @property
    def env_id(self) -> str:
        """The environment's id, without a module in front."""
        return env_id_of(self.env)

    def identity(self) -> dict[str, Any]:
        """Return what makes this unit another than others, as plain JSON."""
        return {
            "suite": self.suite,
            "suite_digest": self.suite_digest,
            "agent": self.agent.identity(),
            "env": self.env,
            "kwargs": dict(self.kwargs),
            "max_episode_steps": self.max_episode_steps,
            "seed": self.seed,
            "budget": self.budget.model_dump(),
        }

    def make_env(self) -> Any:
        """Return the environment, or the vector environment if the agent acts on batches."""
        options: dict[str, Any] = dict(self.kwargs)
        if self.max_episode_steps is not None:
            options["max_episode_steps"] = self.max_episode_steps
        if self.agent.num_envs is None:
            return make(self.env, disable_env_checker=True, **options)
        return make_vec(self.env, num_envs=self.agent.num_envs, **options)

    def env_seed(self, episode: int) -> int:
        """Return the seed of an episode, or of an environment of a batch; all agents get it."""
        return derive_seed(self.seed, "env", self.env_id, episode)

    def agent_seed(self, *path: str | int) -> int:
        """Return a seed for the agent; ``path`` says for what."""
        return derive_seed(self.seed, "agent", self.env_id, *path)

    def __str__(self) -> str:
        return f"{self.agent.name} on {self.env_id}, seed {self.seed}"


def id_of(identity: Mapping[str, Any]) -> str:
    """Return the id of the unit with this identity."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


_HINT = "install the package that registers it"


@dataclass(frozen=True, slots=True)
class Missing:
    """An environment of a suite that cannot be made here."""

    env: str
    reason: str
    install: str

    def __str__(self) -> str:
        return f"{self.env}: {self.reason}; {self.install}"


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """All units of a run, and what was left out of it."""

    suite: Suite
    agents: tuple[AgentSpec, ...]
    units: tuple[Unit, ...]
    missing: tuple[Missing, ...]


def missing_environments(suite: Suite) -> list[Missing]:
    """Return the environments that cannot be made here, with how to get them.

    They are not registered, or something that they say they need is not installed.
    """
    found = []
    for row in suite.environments:
        try:
            # A module in front has to be imported; otherwise an older version needs no warning.
            spec = find_spec(row.id) if ":" in row.id else spec_of(row.id)
            reason = _lacking(spec.security.dependencies)
        except Error:
            reason = "not registered here"
        except ImportError as problem:
            reason = one_line(problem)
        if reason:
            found.append(Missing(row.id, reason, row.install or _HINT))
    return found


def _lacking(dependencies: Iterable[str]) -> str | None:
    """Return what is wrong with the first requirement that is not met here."""
    for text in dependencies:
        try:
            requirement = Requirement(text)
            found = version(requirement.name)
        except InvalidRequirement:
            continue  # its author's own words; whether it works will be seen
        except PackageNotFoundError:
            return f"needs {text}, which is not installed"
        if not requirement.specifier.contains(found, prereleases=True):
            return f"needs {text}, and {found} is installed"
    return None


def make_plan(
    suite: Suite,
    agents: Iterable[Any] | None = None,
    *,
    skip_missing: bool = False,
    trust: bool = False,
) -> BenchPlan:
    """Return the plan of a suite: for each seed, every agent on every environment.

    Args:
        suite: The suite.
        agents: The agents, see :func:`~ludus.bench.agents.parse_agent`; by default the suite's own.
        skip_missing: Leave out environments that are not registered here.
        trust: Whether agents may be loaded whose files are unpickled.

    Raises:
        BenchError: An environment is missing, an agent cannot be found, or two have one name.
    """
    specs = _agents(suite, agents, trust)
    missing = missing_environments(suite)
    if missing and not skip_missing:
        raise BenchError(_message(suite, missing))
    absent = {one.env for one in missing}
    rows = [row for row in suite.environments if row.id not in absent]
    if not rows:
        raise BenchError(f"None of the environments of {suite.name} is registered here.")
    _check_heuristics(specs, rows)
    return BenchPlan(suite, tuple(specs), units_of(suite, specs, absent), tuple(missing))


def units_of(
    suite: Suite, agents: Iterable[AgentSpec], absent: Collection[str] = ()
) -> tuple[Unit, ...]:
    """Return the units of a suite: for each seed, every agent on every environment.

    ``absent`` are environments to leave out, as the suite writes them.
    """
    specs, digest = tuple(agents), suite.digest
    return tuple(
        Unit(
            suite=suite.name,
            suite_digest=digest,
            agent=agent,
            env=row.id,
            seed=seed,
            budget=suite.budget_of(row),
            kwargs=row.kwargs,
            max_episode_steps=row.max_episode_steps,
        )
        # Seed by seed, so that a run that is cut short has every agent everywhere.
        for seed in suite.seeds
        for row in suite.environments
        if row.id not in absent
        for agent in specs
    )


def _agents(suite: Suite, agents: Iterable[Any] | None, trust: bool) -> list[AgentSpec]:
    entries: Sequence[Any] = suite.agents if agents is None else list(agents)
    if agents is None:
        entries = [
            entry if isinstance(entry, str) else entry.model_dump() for entry in suite.agents
        ]
    specs = [parse_agent(entry, trust=trust) for entry in entries]
    if not specs:
        raise BenchError("There is no agent; name at least one.")
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BenchError(
            f"Two agents are called {', '.join(twice)}; give each a name of its own, as in "
            "first=module:factory."
        )
    return specs


def _check_heuristics(specs: Iterable[AgentSpec], rows: Iterable[Environment]) -> None:
    if not any(spec.use == "heuristic" for spec in specs):
        return
    without = [row.id for row in rows if not has_reference(row.id)]
    if without:
        raise BenchError(
            f"There is no reference agent for {', '.join(without)}; leave out 'heuristic'."
        )


def _message(suite: Suite, missing: list[Missing]) -> str:
    rows = "\n".join(f"  {one}" for one in missing)
    return (
        f"{len(missing)} of {len(suite.environments)} environments of {suite.name} are not "
        f"registered here:\n{rows}\nTo run the others, skip these: --skip-missing, or "
        "skip_missing=True in Python."
    )
