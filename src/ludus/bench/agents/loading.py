"""Loads agents: from a spec to an object that acts."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ludus.bench.agents.reference import reference_agent
from ludus.bench.agents.spec import Agent, AgentSpec, BatchAgent, describe
from ludus.errors import BenchError, DependencyNotInstalled
from ludus.spaces import Space

__all__ = [
    "AgentUnusable",
    "ConstantAgent",
    "RandomAgent",
    "as_agent",
    "as_batch_agent",
    "load_agent",
]


class RandomAgent:
    """Draws every action from the action space."""

    def __init__(self, space: Space[Any], seed: int) -> None:
        # A copy: the environment's own space may be drawn from by others.
        self._space = deepcopy(space)
        self._space.seed(seed)

    def act(self, observation: Any) -> Any:
        """Return a random action."""
        return self._space.sample()

    def act_batch(self, observations: Any) -> Any:
        """Return random actions; the space is that of a batch."""
        return self._space.sample()


class ConstantAgent:
    """Always does the same."""

    def __init__(self, action: Any) -> None:
        self._action = action

    def act(self, observation: Any) -> Any:
        """Return the action."""
        return self._action


class AgentUnusable(BenchError):
    """The agent cannot be loaded, or is none."""


class _FunctionAgent:
    """A function of an observation, or of a batch of them."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.act = self.act_batch = function
        for name in ("reset", "feedback"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))


class _PredictingAgent:
    """A model with Stable-Baselines3's ``predict``, its memory kept over an episode."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._memory: Any = None
        self._first = True

    def reset(self, seed: int, env: Any) -> None:
        """Forget the episode before."""
        self._memory, self._first = None, True

    def act(self, observation: Any) -> Any:
        """Return the most likely action."""
        action, self._memory = self._model.predict(
            observation, state=self._memory, episode_start=self._starts(1), deterministic=True
        )
        return action

    def act_batch(self, observations: Any) -> Any:
        """Return the most likely action for each; models with memory are run one by one."""
        if getattr(self._model.policy, "lstm_actor", None) is not None:
            raise AgentUnusable("A recurrent model cannot tell episodes apart in a batch.")
        return self._model.predict(observations, deterministic=True)[0]

    def _starts(self, count: int) -> Any:
        import numpy as np

        starts = np.full(count, self._first)
        self._first = False
        return starts


def load_agent(spec: AgentSpec, env: Any, seed: int) -> Any:
    """Return the agent, for one environment, or for a vector environment if it acts on batches.

    Raises:
        AgentUnusable: Its file or module lacks it, or what is there is no agent.
        Exception: Whatever its own code raises.
    """
    thing = spec.use
    if isinstance(thing, str):
        kind, _, rest = thing.partition(":")
        if kind == "random":
            return RandomAgent(env.action_space, seed)
        if kind == "constant":
            return ConstantAgent(json.loads(rest))
        if kind == "heuristic":
            return reference_agent(env)
        thing = _sb3_model(rest, spec.trust) if kind == "sb3" else _named(thing)
    adapt = as_agent if spec.num_envs is None else as_batch_agent
    return adapt(_made(thing, env, seed, spec.options))


def as_agent(thing: Any) -> Agent:
    """Return ``thing`` as an agent: itself, or an adapter of a function or a model.

    Raises:
        AgentUnusable: It can be neither.
    """
    if isinstance(thing, Agent):
        return thing
    return cast("Agent", _dressed(thing, "act(observation)"))


def as_batch_agent(thing: Any) -> BatchAgent:
    """Return ``thing`` as an agent over batches; see :func:`as_agent`."""
    if isinstance(thing, BatchAgent):
        return thing
    return cast("BatchAgent", _dressed(thing, "act_batch(observations)"))


def _dressed(thing: Any, wanted: str) -> Any:
    if callable(getattr(thing, "predict", None)):
        return _PredictingAgent(thing)
    if callable(thing):
        return _FunctionAgent(thing)
    raise AgentUnusable(
        f"A {type(thing).__name__} is no agent: it has neither {wanted} nor predict(), and cannot "
        "be called with an observation."
    )


def _made(thing: Any, env: Any, seed: int, options: Mapping[str, Any]) -> Any:
    """Call a factory; return anything else as it is.

    A class is a factory, and so is a function that asks for nothing but ``env``, ``seed`` and the
    options. Any other function is a policy.
    """
    if not (isinstance(thing, type) or inspect.isroutine(thing)):
        if options:
            raise AgentUnusable(f"{describe(thing)} is no factory; its options have no use.")
        return thing
    offered = {"env": env, "seed": seed, **options}
    parameters = inspect.signature(thing).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = {p.name for p in parameters if p.default is p.empty and p.kind in named}
    if not isinstance(thing, type) and needed - offered.keys():
        return thing
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters if p.kind in named}
    return thing(**{k: v for k, v in offered.items() if k in known or k in options or takes_all})


def _named(text: str) -> Any:
    where, _, name = text.rpartition(":")
    module = _module_of_file(Path(where)) if where.endswith(".py") else _module(where)
    thing: Any = module
    for part in name.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError as problem:
            raise AgentUnusable(f"{where} has no {name!r}; check the name after ':'.") from problem
    return thing


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and name.startswith(problem.name):
            raise AgentUnusable(f"There is no module {name!r} to load the agent from.") from problem
        raise


def _module_of_file(path: Path) -> ModuleType:
    name = f"ludus_agent_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AgentUnusable(f"{path} cannot be loaded as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _sb3_model(text: str, trust: bool) -> Any:
    if not trust:
        raise AgentUnusable("A model of Stable-Baselines3 is only loaded if it is trusted.")
    algorithm, _, path = text.partition(":")
    for package in ("stable_baselines3", "sb3_contrib"):
        try:
            found = getattr(importlib.import_module(package), algorithm, None)
        except ModuleNotFoundError as problem:
            if package == "stable_baselines3":
                raise DependencyNotInstalled(
                    "Models of Stable-Baselines3 need it: pip install stable-baselines3"
                ) from problem
            continue
        if found is not None:
            return found.load(path, device="cpu")
    raise AgentUnusable(f"Stable-Baselines3 has no algorithm {algorithm!r}.")
