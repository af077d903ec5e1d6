"""Agents by name: what a suite or a command line calls them.

=========================  =========================================================
``random``                 actions drawn from the action space
``constant:VALUE``         always this action, given as JSON
``heuristic``              Ludus's reference agent for the environment
``module:factory``         what a factory in a module makes
``path/file.py:factory``   the same, from a file
``sb3:PPO:model.zip``      a model of Stable-Baselines3 (asks for ``trust``)
``batch:16:…``             any of the last three, over 16 environments at once
=========================  =========================================================
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ludus.errors import BenchError

__all__ = ["BUILT_IN", "Agent", "AgentSpec", "BatchAgent", "RecordedAgent", "parse_agent"]

BUILT_IN = ("constant", "heuristic", "random")
_KINDS = f"{', '.join(BUILT_IN)}, module:factory, file.py:factory, sb3:ALGORITHM:model.zip"
_LONGEST_NAME = 120


@dataclass(frozen=True)
class AgentSpec:
    """An agent that is not made yet.

    Attributes:
        name: What results call it.
        use: Text as above, or an agent, a class of agents, or a function of an observation.
        num_envs: Over how many environments at once it acts; ``None`` for one after the other.
        options: Passed to its factory.
        trust: Whether files that are unpickled may be loaded.

    Raises:
        BenchError: The options are not plain JSON.
    """

    name: str
    use: Any
    num_envs: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    trust: bool = False

    def __post_init__(self) -> None:
        try:
            json.dumps(dict(self.options), allow_nan=False)
        except (TypeError, ValueError) as problem:
            raise BenchError(
                f"The options of {self.name} must be plain JSON, to be written down: {problem}."
            ) from problem

    @cached_property
    def digest(self) -> str | None:
        """The SHA-256 of the file that the agent comes from, ``None`` where there is none."""
        path = source_of(self.use)
        return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()

    @property
    def is_built_in(self) -> bool:
        """Whether the agent's code is Ludus's own."""
        return isinstance(self.use, str) and self.use.partition(":")[0] in BUILT_IN

    def identity(self) -> dict[str, Any]:
        """Return what tells this agent from others, as plain JSON."""
        use = self.use if isinstance(self.use, str) else describe(self.use)
        return {
            "name": self.name,
            "use": use,
            "num_envs": self.num_envs,
            "options": dict(self.options),
            "digest": self.digest,
        }

    @property
    def by_name(self) -> bool:
        """Whether the agent can be made again from its text alone."""
        return isinstance(self.use, str)


@dataclass(frozen=True)
class RecordedAgent(AgentSpec):
    """An agent of a run that was made elsewhere or earlier; only its identity is known.

    Attributes:
        identity_then: What :meth:`AgentSpec.identity` returned when the run began.
    """

    identity_then: Mapping[str, Any] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """Return the identity that the agent had when the run began."""
        return dict(self.identity_then)


def parse_agent(given: Any, *, trust: bool = False) -> AgentSpec:
    """Return the agent that is meant.

    Args:
        given: A spec, a text (``name=…`` in front gives it another name), a mapping with ``use``
            and perhaps ``name``, ``num_envs`` and ``options``, or an object or function.
        trust: Whether models may be loaded that are unpickled, which runs their code.

    Raises:
        BenchError: It names no agent, or one that must be trusted and is not.
    """
    if isinstance(given, AgentSpec):
        return given
    if isinstance(given, str):
        return _from_text(given, trust)
    if isinstance(given, Mapping):
        known = {"use", "name", "num_envs", "options"}
        if "use" not in given or given.keys() - known:
            raise BenchError(f"An agent has the fields {sorted(known)}, got {sorted(given)}.")
        base = parse_agent(given["use"], trust=trust)
        return AgentSpec(
            name=given.get("name") or base.name,
            use=base.use,
            num_envs=given.get("num_envs") or base.num_envs,
            options=dict(given.get("options") or {}),
            trust=trust,
        )
    if not callable(given) and not any(hasattr(given, name) for name in ("act", "act_batch")):
        raise BenchError(
            f"{given!r} is no agent: expected a function of an observation, something with "
            f"act(observation) or act_batch(observations), or one of {_KINDS}."
        )
    return AgentSpec(name=describe(given).rpartition(":")[2], use=given, trust=trust)


def describe(thing: object) -> str:
    """Return ``module:name`` of a function, a class, or an object's class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def source_of(use: object) -> Path | None:
    """Return the file that a text leads to, without importing anything but packages around it."""
    if not isinstance(use, str) or use.partition(":")[0] in BUILT_IN:
        return None
    if use.startswith("sb3:"):
        return Path(use.split(":", 2)[2])
    where = use.rpartition(":")[0]
    if where.endswith(".py"):
        return Path(where)
    try:
        found = importlib.util.find_spec(where)
    except (ImportError, ValueError):
        return None
    origin = None if found is None else found.origin
    return Path(origin) if origin and Path(origin).is_file() else None


def _from_text(text: str, trust: bool) -> AgentSpec:
    name, equals, use = text.partition("=")
    if not equals or not re.fullmatch(r"[\w.@+-]+", name):
        name, use = "", text
    num_envs = None
    if use.startswith("batch:"):
        count, _, use = use.removeprefix("batch:").partition(":")
        if not count.isdecimal() or int(count) < 1:
            raise BenchError(f"{text!r}: write batch:16:module:factory, 16 being how many at once.")
        num_envs = int(count)
    _check(use, text, trust)
    return AgentSpec((name or use)[:_LONGEST_NAME], use, num_envs, trust=trust)


def _check(use: str, text: str, trust: bool) -> None:
    kind, colon, rest = use.partition(":")
    if kind in BUILT_IN:
        if kind == "constant":
            _check_constant(rest, text)
        elif colon:
            raise BenchError(f"{text!r}: {kind} takes no value; write {kind}.")
        return
    if not colon or not rest:
        raise BenchError(f"{text!r} names no agent; expected one of {_KINDS}.")
    if kind == "sb3":
        algorithm, _, path = rest.partition(":")
        if not algorithm.isidentifier() or not path:
            raise BenchError(f"{text!r}: write sb3:ALGORITHM:model.zip, such as sb3:PPO:model.zip.")
        if not trust:
            raise BenchError(
                f"{text!r}: loading a model of Stable-Baselines3 unpickles it, which runs whatever "
                "code its maker put there. If you trust the file, say so with --trust-pickle, or "
                "trust=True in Python."
            )
    path_given = source_of(use)
    if path_given is not None and not path_given.is_file():
        raise BenchError(f"{text!r}: there is no file {path_given}.")


def _check_constant(value: str, text: str) -> None:
    try:
        json.loads(value)
    except ValueError as problem:
        raise BenchError(
            f"{text!r}: write the action as JSON, such as constant:0 or constant:[0.5]."
        ) from problem


@runtime_checkable
class Agent(Protocol):
    """Chooses one action at a time."""

    def act(self, observation: Any) -> Any:
        """Return an action of the environment's action space."""


@runtime_checkable
class BatchAgent(Protocol):
    """Chooses the actions of several environments at once.

    ``reset(seed, env)`` is called once, with the vector environment.
    """

    def act_batch(self, observations: Any) -> Any:
        """Return one action for each observation, in the vector environment's layout."""
