"""A unit of work: one agent on one environment with one seed and one budget."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.planning.budget import Budget
from ludus.bench.planning.suite import env_id_of
from ludus.registration.make_env import make
from ludus.registration.make_vec_env import make_vec
from ludus.seeding import derive_seed

__all__ = ["Unit", "id_of"]


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
