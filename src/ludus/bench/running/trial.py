"""Evidence about a unit that failed while its agent was playing.

An agent whose code runs beside the environment can make both fail: it can kill its process, patch
a class or fill the memory. So a failure counts as one of the infrastructure only if it also occurs
without the agent, in a fresh process, on the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.faults import FAILED_CALL, one_line
from ludus.bench.planning.plan import Unit
from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob, build, fault_result, make_place
from ludus.bench.running.play import action_reader
from ludus.bench.verifying.recount import size_problems
from ludus.errors import BenchError, InfrastructureFailed
from ludus.record import read_run
from ludus.record.episodes.recorder import REFUSALS
from ludus.record.replay.replay import Playback

__all__ = ["Trial", "fails_without_agent"]

_STEPS = 200
_REPLAY_SECONDS = 60.0
_TRIAL_SECONDS = 300.0


def fails_without_agent(job: UnitJob) -> str | None:
    """Return why a unit fails without its agent, or ``None`` if it does not.

    The unit's environment is recorded for some random steps, and the agent's recorded actions are
    repeated, in a fresh process.
    """
    from ludus.bench.engines.processes import ProcessEngine

    # The agent stays here: unpickling it would run its code.
    agent = AgentSpec("trial", "random", num_envs=job.unit.agent.num_envs)
    unit = replace(job.unit, agent=agent)
    trial = Trial(unit, job.run, job.folder, recorded=job.record)
    with ProcessEngine(1) as engine:
        engine.submit(trial)
        done = engine.wait()
    return None if done is None or done.fault is None else done.fault


@dataclass(frozen=True, slots=True)
class Trial(UnitJob):
    """A unit without its agent. Its result means only that nothing failed.

    ``recorded`` is the path of the agent's record, relative to the folder.
    """

    recorded: str = field(kw_only=True)

    @property
    def max_seconds(self) -> float | None:
        """Time limit; an environment that takes longer hangs."""
        return _TRIAL_SECONDS

    def execute(self, on_playing: Callable[[], None] = lambda: None) -> Result:
        """Try the environment.

        Raises:
            InfrastructureFailed: It fails, or cannot be recorded.
        """
        on_playing()
        try:
            with TemporaryDirectory(dir=make_place(self.folder), prefix=".trial-") as folder:
                _sample(UnitJob(self.unit, self.run, folder))
            _repeat(self.unit, Path(self.folder, self.recorded))
        except InfrastructureFailed:
            raise
        except Exception as problem:  # the environment's own code
            raise InfrastructureFailed(one_line(problem)) from problem
        return fault_result(self, "nothing failed", 1)

    def accepts(self, result: Result) -> bool:
        """Accept the answer, which no agent can have written."""
        return result.id == self.unit.id

    def settle(self, reason: str, seconds: float) -> Result:
        """Raise ``BenchError``: there is no agent to blame."""
        raise BenchError(f"the environment alone {reason}")


def _sample(job: UnitJob) -> None:
    """Record some random steps of the unit's environment."""
    env = build(job)
    try:
        space = env.action_space
        space.seed(job.unit.seed)
        env.reset(seed=job.unit.env_seed(0))
        over = False
        for _ in range(_STEPS):
            if over:
                env.reset()
            _, _, terminated, truncated, _ = env.step(space.sample())
            over = job.unit.agent.num_envs is None and bool(terminated or truncated)
        env.recorder.close("complete")
    finally:
        env.close()


def _repeat(unit: Unit, record: Path) -> None:
    """Repeat the calls of a record, and the call that failed.

    Only what the environment itself raises is evidence. A record that the agent changed, and calls
    that no runner makes, are none.

    Raises:
        InfrastructureFailed: The environment fails without the agent.
    """
    with unit.make_env() as env:
        calls = _Calls(unit, env)
        env.step, env.reset = calls.step, calls.reset
        try:
            reader = read_run(record)
            if any(size_problems(reader, unit)):
                return
            if all(mismatch is None for mismatch in Playback(reader, env).run()):
                for event in reader.events:
                    call = event.data.get(FAILED_CALL) if event.kind == "note" else None
                    if isinstance(call, Mapping):
                        _repeat_call(env, call)
        except Exception:  # noqa: S110 - a record that cannot be repeated is no evidence
            pass
    if calls.failure is not None:
        raise InfrastructureFailed(f"the environment {calls.failure}, also without the agent")


def _repeat_call(env: Any, call: Mapping[str, Any]) -> None:
    if "action" in call:
        env.step(env.action_space.from_jsonable(call["action"])[0])
    else:
        env.reset(seed=call.get("seed"))


class _Calls:
    """Makes the calls of a runner, in its order, and notes the first failure of the environment."""

    def __init__(self, unit: Unit, env: Any) -> None:
        self._unit, self._step, self._reset = unit, env.step, env.reset
        self._read = action_reader(env.action_space)
        self._end = time.monotonic() + _REPLAY_SECONDS
        self._resets, self._is_over = 0, True
        self.failure: str | None = None

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset the environment as a unit does."""
        count, expected = self._unit.agent.num_envs, self._unit.env_seed
        right = expected(self._resets) if count is None else [*map(expected, range(count))]
        if seed != right or options is not None or not self._is_over:
            raise ValueError("no runner resets an environment like this")
        self._resets, self._is_over = self._resets + 1, False
        return self._watched(self._reset, seed=right)

    def step(self, action: Any) -> Any:
        """Make a step that an agent can have made."""
        if self._is_over or time.monotonic() > self._end:
            raise ValueError("no runner makes this step, or there is no time for it")
        answer = self._watched(self._step, self._read(action))
        if not np.isfinite(answer[1]).all():
            self.failure = self.failure or f"paid {answer[1]!r:.100}"
        single = self._unit.agent.num_envs is None
        self._is_over = single and bool(answer[2] or answer[3])
        return answer

    def _watched(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return call(*arguments, **named)
        except REFUSALS:
            raise
        except Exception as problem:  # the environment's own code; raised again
            self.failure = self.failure or f"raised {one_line(problem)}"
            raise
