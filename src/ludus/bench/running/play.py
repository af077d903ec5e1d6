"""Plays a unit: episodes, their returns, and what they cost."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, Self

import numpy as np

from ludus.bench.agents.loading import load_agent
from ludus.bench.faults import one_line, plain
from ludus.bench.planning.budget import Budget
from ludus.bench.planning.plan import Unit
from ludus.core.vector_env import AutoresetMode
from ludus.errors import AgentFailed, InfrastructureFailed
from ludus.record.format.values import Coded, encoded
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["CtrlC", "UnitTally", "action_reader", "play"]


@dataclass(slots=True)
class UnitTally:
    """What a unit has played so far; it stays valid when a fault ends it.

    Attributes:
        returns: Of the finished episodes that count.
        finished: Of all finished episodes, in the order of their ends; in a batch there are more.
        steps: All steps, those of unfinished episodes included.
        cost: Money that the agent says it spent.
        stopped: Which limit ended the unit before all was played.
        curve: Steps and return, per episode, for agents that learn.
        rows: Calls of the environment's ``step``; in a batch each makes several steps.
        calling: The last call of the environment: its name and arguments.
        modules: Modules that the agent's code is from.
    """

    returns: list[float] = field(default_factory=list)
    finished: list[float] = field(default_factory=list)
    steps: int = 0
    cost: float = 0.0
    stopped: str | None = None
    curve: list[list[float]] | None = None
    rows: int = 0
    calling: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None
    modules: frozenset[str] = frozenset()


def play(unit: Unit, env: Any, tally: UnitTally) -> None:
    """Play a unit to its end, counting into ``tally``.

    ``env`` is a vector environment if the agent acts on batches.

    Raises:
        AgentFailed: The agent raised, gave an invalid action, took too long, or spent its budget
            before an episode was over.
        InfrastructureFailed: The environment or its recording failed.
        KeyboardInterrupt: The user has interrupted the process. One that the agent raises is the
            agent's fault.
    """
    _seed_everything(unit.agent_seed("global"))
    with CtrlC() as ctrl_c:
        player = _Player(unit, tally, ctrl_c)
        agent = player.ask("loading it", load_agent, unit.agent, env, unit.agent_seed("agent"))
        player.watch(agent)
        if unit.agent.num_envs is None:
            _play_episodes(player, env, agent)
        else:
            _play_batch(player, env, agent)
    if not tally.returns:
        raise AgentFailed(f"{tally.stopped} was used up before an episode was over")


class _Player:
    """Calls the agent, keeps its time and its cost, and decides whose fault a failure is."""

    def __init__(self, unit: Unit, tally: UnitTally, ctrl_c: CtrlC) -> None:
        self.unit, self.tally = unit, tally
        self._ctrl_c = ctrl_c
        self._started = time.monotonic()
        self._limit = unit.budget.max_seconds
        self._cost: Callable[[], float] | None = None
        self._adds = False

    def watch(self, agent: Any) -> None:
        """Find where the agent reports its cost, and which modules its code is from."""
        self.tally.modules = self.ask("looking at it", _modules, agent)
        for name, adds in (("cost", False), ("last_cost", True)):
            if self.ask(f"looking for {name}", hasattr, agent, name):
                self._cost, self._adds = partial(getattr, agent, name), adds
                return

    def part(self, agent: Any, name: str, *default: Any) -> Any:
        """Return an attribute of the agent."""
        return self.ask(f"looking for {name}", getattr, agent, name, *default)

    def ask(self, what: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the agent's own code returns; whatever it raises is the agent's fault.

        Everything that touches an object of the agent is done here: its attributes, answers and
        exceptions may have methods of its own.
        """
        try:
            answer = call(*arguments)
        # An agent that ends the program has failed, and must not end the worker.
        except BaseException as problem:
            reason = _reason(what, problem)
            self._ctrl_c.check()
            raise AgentFailed(reason) from problem
        self._ctrl_c.check()
        if self._limit is not None and time.monotonic() - self._started > self._limit:
            raise AgentFailed(f"exceeded its time of {self._limit:g} s")
        return answer

    def call(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return what the environment returns; whatever it raises is not the agent's fault.

        Raises:
            InfrastructureFailed: The environment, or its recording, raised.
        """
        name = "step" if arguments else "reset"
        self.tally.calling = (name, arguments, named)
        try:
            answer = call(*arguments, **named)
        # The environment's own code, which must not end the worker either.
        except BaseException as problem:
            self._ctrl_c.check()
            raise InfrastructureFailed(f"the environment raised {one_line(problem)}") from problem
        self.tally.rows += name == "step"
        return answer

    def count(self, steps: int) -> bool:
        """Count steps and cost; tell whether the unit may go on."""
        tally, budget = self.tally, self.unit.budget
        tally.steps += steps
        if self._cost is not None:
            told = self.ask("telling its cost", lambda: float(self._cost()))  # type: ignore[misc]
            if not 0.0 <= told < float("inf"):
                raise AgentFailed(f"told a cost of {told}")
            tally.cost = tally.cost + told if self._adds else told
            if budget.max_cost is not None and tally.cost > budget.max_cost:
                tally.stopped = "max_cost"
                return False
        if budget.max_steps is not None and tally.steps >= budget.max_steps:
            tally.stopped = "max_steps"
            return False
        return True


def _play_episodes(player: _Player, env: Any, agent: Any) -> None:
    unit, tally, budget = player.unit, player.tally, player.unit.budget
    read, act = action_reader(env.action_space), player.part(agent, "act")
    feedback = player.part(agent, "feedback", None)
    tally.curve = None if feedback is None else []
    while True:
        number = len(tally.returns)
        observation, _ = player.call(env.reset, seed=unit.env_seed(number))
        if (reset := player.part(agent, "reset", None)) is not None:
            player.ask("reset()", reset, unit.agent_seed("episode", number), env)
        total = 0.0
        while True:
            action = player.ask("act()", _read_answer, read, act, observation)
            observation, reward, terminated, truncated, _ = player.call(env.step, action)
            total += float(reward)
            over = terminated or truncated
            if feedback is not None:
                player.ask("feedback()", feedback, float(reward), bool(terminated), bool(truncated))
            go_on = player.count(1)
            if over or not go_on:
                break
        if over:
            _finish(tally, total)
        enough = (
            tally.steps >= budget.steps if budget.steps else len(tally.returns) >= _episodes(budget)
        )
        if enough or not go_on:
            # A limit that cuts the last episode short has ended the unit, even if enough was made.
            tally.stopped = None if enough and over else tally.stopped
            return


def _play_batch(player: _Player, env: Any, agent: Any) -> None:
    """Let every environment play its share; episodes beyond it do not count.

    Counting the first episodes to end would favour short ones.
    """
    unit, tally, budget = player.unit, player.tally, player.unit.budget
    count = env.num_envs
    if env.metadata.get("autoreset_mode") not in (None, AutoresetMode.NEXT_STEP):
        raise InfrastructureFailed("batches are played with next-step autoreset only")
    read, act = action_reader(env.action_space), player.part(agent, "act_batch")
    observations, _ = player.call(env.reset, seed=[unit.env_seed(i) for i in range(count)])
    if (reset := player.part(agent, "reset", None)) is not None:
        player.ask("reset()", reset, unit.agent_seed("episode", 0), env)
    totals, made, episodes = np.zeros(count), np.zeros(count, int), np.zeros(count, int)
    fresh = np.zeros(count, bool)
    busy = _shares(budget.episodes or count, count) > 0
    go_on = True
    while go_on and busy.any():
        actions = player.ask("act_batch()", _read_answer, read, act, observations)
        observations, rewards, ends, cuts, _ = player.call(env.step, actions)
        # The call after an episode's end resets: it is no step, and its action is not looked at.
        stepped = ~fresh
        totals[stepped] += rewards[stepped]
        made[stepped] += 1
        go_on = player.count(int(stepped.sum()))
        fresh = ends | cuts
        for i in np.flatnonzero(fresh):
            _finish(tally, float(totals[i]), counts=bool(busy[i]))
            totals[i] = 0.0
            episodes[i] += 1
        if budget.steps:
            busy &= ~(fresh & (made >= _shares(budget.steps, count)))
        else:
            busy &= episodes < _shares(_episodes(budget), count)
    tally.stopped = tally.stopped if busy.any() else None


def _episodes(budget: Budget) -> int:
    return budget.episodes or 0


def _shares(total: int, count: int) -> np.ndarray[Any, Any]:
    return total // count + (np.arange(count) < total % count)


def _finish(tally: UnitTally, total: float, *, counts: bool = True) -> None:
    if not np.isfinite(total):
        raise InfrastructureFailed(f"the environment paid {total} in an episode")
    tally.finished.append(total)
    if not counts:
        return
    tally.returns.append(total)
    if tally.curve is not None:
        tally.curve.append([tally.steps, total])


def _read_answer(read: Callable[[Any], Any], act: Callable[[Any], Any], observation: Any) -> Any:
    return read(act(observation))


def _reason(what: str, problem: BaseException) -> str:
    """Return why the agent failed; the exception's class may be the agent's own."""
    try:
        if type(problem) is AgentFailed:
            return plain(str(problem))
        return f"{what} raised {one_line(problem)}"
    except BaseException:  # the exception's own code; the caller looks for a Ctrl-C
        return f"{what} raised an exception that cannot be shown"


def _modules(agent: Any) -> frozenset[str]:
    """Return the modules that an agent's code is from, without those of Ludus."""
    acts = (getattr(agent, name, None) for name in ("act", "act_batch"))
    names = {type(agent).__module__, *(getattr(act, "__module__", None) for act in acts)}
    return frozenset(name for name in names if type(name) is str and not name.startswith("ludus."))


def _seed_everything(seed: int) -> None:
    """Seed the generators that careless agents share, so that they play the same every time."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - agents use it
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


class CtrlC:
    """Notes each SIGINT that interrupts this process, while the context is entered.

    An agent that raises ``KeyboardInterrupt`` has failed. The user's Ctrl-C ends the run even if
    the agent's code catches it.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._pressed = False

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        # Only the main thread may set handlers, and only there do interrupts arrive.
        with contextlib.suppress(ValueError):
            if callable(before):
                signal.signal(signal.SIGINT, self._handle)
                self._before = before
        return self

    def __exit__(self, *exc: object) -> None:
        before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGINT, before)

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if the user has interrupted the process."""
        if self._pressed:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before(number, frame)
        except KeyboardInterrupt:
            self._pressed = True
            raise


_EXACT = frozenset({bool, int, *np.sctypeDict.values()})


def action_reader(space: Space[Any]) -> Callable[[Any], Any]:
    """Return a function that gives an agent's answer as an action of the space.

    Lists become arrays or tuples, and numbers get the dtype of the space, as long as that keeps
    their kind; arrays of one number become that number where one is asked for. An action holds no
    object of the agent's own classes, whose methods the environment would call.

    Raises:
        AgentFailed: (The function.) The answer is not in the space.
        BaseException: (The function.) Whatever the answer's own methods raise.
    """
    convert = _converter(space)

    def read(answer: Any) -> Any:
        try:
            action = convert(answer)
            valid = space.contains(action)
        except Exception:  # the answer's own methods may raise anything
            valid = False
        if not valid:
            raise AgentFailed(f"invalid action {_shown(answer)} for {space!r:.200}")
        return action

    return read


def _converter(space: Space[Any]) -> Callable[[Any], Any]:
    if isinstance(space, Discrete):
        return _number
    if isinstance(space, Box | MultiDiscrete | MultiBinary):
        return lambda answer: _array(answer, space.dtype)
    if isinstance(space, Tuple):
        parts = [_converter(part) for part in space.spaces]
        return lambda answer: tuple(read(value) for read, value in zip(parts, answer, strict=True))
    if isinstance(space, Dict):
        named = {key: _converter(part) for key, part in space.spaces.items()}
        return lambda answer: _mapping(answer, named)
    how = Coded("action", space)
    return lambda answer: how.decoded(encoded("action", answer))


def _shown(answer: Any) -> str:
    try:
        return f"{answer!r:.200}"
    except Exception:  # its own code
        return f"of {type(answer)!r:.100}, which cannot be shown,"


def _mapping(answer: Any, named: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    if len(answer) != len(named):
        raise ValueError("other keys than the space's")
    return {key: read(answer[key]) for key, read in named.items()}


def _number(answer: Any) -> Any:
    if type(answer) in _EXACT:
        return answer
    if isinstance(answer, np.ndarray):
        array = np.asarray(answer)
        return array.item() if array.size == 1 else array
    # A subclass has methods of its own; the number in it is what is meant.
    if isinstance(answer, int):
        return int.__int__(answer)
    return np.generic.item(answer) if isinstance(answer, np.generic) else answer


def _array(answer: Any, dtype: Any) -> Any:
    array = np.asarray(answer)
    if array.dtype == dtype:
        return array
    whole = array.dtype.kind in "biu"
    if not (whole or array.dtype.kind == np.dtype(dtype).kind == "f"):
        raise TypeError(f"{array.dtype} is not of the kind of {dtype}")
    action = array.astype(dtype)
    if whole and not np.array_equal(action, array):
        raise ValueError(f"{dtype} does not hold these numbers")
    return action
