"""Episodes of a task side by side, each at its own pace: for training and evaluation in a program.

::

    for rollout in rollouts("battleOfSexes", policy, 32, concurrency=8):
        print(rollout.seed, rollout.score, [step.action for step in rollout.steps])

Nothing is recorded; :func:`ludus.research.run_research` does that.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ludus.bench.agents.spec import AgentSpec
from ludus.errors import ResearchError
from ludus.research.agents.protocol import Action, Agent, AgentStopped
from ludus.research.episode.env import ResearchEnv, TaskLike
from ludus.research.episode.observation import Observation
from ludus.research.running.agents import AgentView, make_agent
from ludus.research.running.options import EpisodeOptions
from ludus.research.task.discovery import load_task

__all__ = ["Rollout", "RolloutStep", "rollouts"]

Policy: TypeAlias = Callable[[Observation], Action] | type[Agent] | AgentSpec
_CONCURRENCY = 32


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """What the policy saw, what it did, and what that was worth."""

    observation: Observation
    action: Action
    reward: float


@dataclass(frozen=True, slots=True)
class Rollout:
    """A finished episode.

    Attributes:
        number: From 0, in the order of the seeds.
        seed: Of the episode.
        steps: In order; an end without an action is not among them.
        last: The last observation.
        reward: The sum of all rewards, that of the end included.
        info: Of the last step: ``outcome``, ``score``, ``normalised_score``, ``end``, …
        error: What the policy raised, or why there could be no episode; it has no score then.
    """

    number: int
    seed: int
    steps: tuple[RolloutStep, ...] = ()
    last: Observation | None = None
    reward: float = 0.0
    info: dict[str, Any] | None = None
    error: Exception | None = None

    @property
    def score(self) -> float | None:
        """On the test split; ``None`` where the work was not scored."""
        return None if self.info is None else self.info["score"]


def rollouts(
    task: TaskLike,
    policy: Policy,
    n: int,
    *,
    seed: int = 0,
    concurrency: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Iterator[Rollout]:
    """Play episodes side by side and yield each when it is over, whatever the others do.

    Every episode has an environment, a sandbox and a thread of its own. When the iterator is
    closed, the episodes that are under way end after their current action, without a score.

    Args:
        task: As for :class:`ResearchEnv`.
        policy: A function from an observation to an action, which several threads call; a class of
            agents, of which each episode gets an instance; or what
            :func:`~ludus.research.parse_agent` returns. An agent that raises ``AgentStopped`` is
            done, and its work is graded.
        n: Number of episodes.
        seed: Of the first one; the others count up.
        concurrency: Largest number of episodes at a time; by default 32.
        options: Arguments of :class:`ResearchEnv`.

    Raises:
        ResearchError: The task is wrong, or a number is not positive.
    """
    for name, value in (("n", n), ("concurrency", concurrency)):
        if value is not None and value < 1:
            raise ResearchError(f"rollouts({name}={value}): expected at least 1.")
    # Once for all, so that a wrong task is told at once and not by every episode.
    loaded = load_task(Path(task) if isinstance(task, os.PathLike) else task)
    given = dict(options or {})
    return _play_all(loaded, policy, range(seed, seed + n), concurrency or _CONCURRENCY, given)


def _play_all(
    task: Any, policy: Policy, seeds: range, concurrency: int, options: dict[str, Any]
) -> Iterator[Rollout]:
    stop = threading.Event()
    with ThreadPoolExecutor(min(concurrency, len(seeds)), "rollout") as pool:
        try:
            waiting: set[Future[Rollout | None]] = {
                pool.submit(_play, task, policy, number, seed, options, stop)
                for number, seed in enumerate(seeds)
            }
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    rollout = future.result()
                    if rollout is not None:
                        yield rollout
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _play(
    task: Any,
    policy: Policy,
    number: int,
    seed: int,
    options: dict[str, Any],
    stop: threading.Event,
) -> Rollout | None:
    """Return the episode, ``None`` if it was stopped."""
    steps: list[RolloutStep] = []
    try:
        with ResearchEnv(task, **options) as env:
            agent = _agent_of(policy, env, seed)
            try:
                return _episode(env, agent, number, seed, steps, stop)
            finally:
                if callable(close := getattr(agent, "close", None)):
                    close()
    except Exception as problem:  # the policy's own code may raise anything
        return Rollout(number, seed, tuple(steps), error=problem)


def _episode(
    env: ResearchEnv,
    agent: Any,
    number: int,
    seed: int,
    steps: list[RolloutStep],
    stop: threading.Event,
) -> Rollout | None:
    observation, _ = env.reset(seed=seed)
    act = agent.act if hasattr(agent, "act") else agent
    total, is_over = 0.0, False
    while not is_over:
        if stop.is_set():
            return None
        before = observation
        try:
            action = act(observation)
        except AgentStopped as stopped:
            observation, reward, _, _, info = env.finish(stopped.reason.value)
            return Rollout(number, seed, tuple(steps), observation, total + reward, info)
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append(RolloutStep(before, action, reward))
        total, is_over = total + reward, terminated or truncated
    return Rollout(number, seed, tuple(steps), observation, total, info)


def _agent_of(policy: Policy, env: ResearchEnv, seed: int) -> Any:
    """Return what chooses the actions of one episode."""
    if isinstance(policy, AgentSpec):
        view = AgentView.of(env)
        agent: Any = make_agent(policy, view, seed, EpisodeOptions())
    elif isinstance(policy, type):
        agent, view = policy(), AgentView.of(env)
    else:
        return policy
    if callable(getattr(agent, "reset", None)):
        agent.reset(seed, view)
    return agent
