"""What worker processes are given and give back is not rounded on the way."""

from __future__ import annotations

import multiprocessing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from tests.reference.twins import assert_same


def echo_env(library: Any, kind: str) -> Any:
    """Return an environment that tells what it was given; its episodes last two steps."""
    spaces = library.spaces
    observation = {
        "int": spaces.Discrete(9),
        "float64": spaces.Box(0, 9, (2,), np.float32),
        "array": spaces.Box(0, 9, (2,), np.float64),
        "dict": spaces.Dict(a=spaces.Discrete(9), b=spaces.Box(0, 9, (2,), np.float64)),
    }[kind]

    class Echo(library.Env):
        observation_space = observation
        action_space = spaces.Box(-1, 1, (), np.float32)

        def _seen(self) -> Any:
            array = np.full(2, self.steps + 1 / 3)
            return {"int": self.steps, "dict": {"a": self.steps, "b": array}}.get(kind, array)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.steps = 0
            return self._seen(), {}

        def step(self, action: Any) -> Any:
            self.steps += 1
            return self._seen(), float(action) * 3, self.steps == 2, False, {}

    return Echo()


def batch(library: Any, kind: str, **given: Any) -> Any:
    return library.vector.AsyncVectorEnv(
        [partial(echo_env, library, kind)] * 2, autoreset_mode="SameStep", **given
    )


@pytest.mark.parametrize("kind", ["int", "float64", "array", "dict"])
@pytest.mark.parametrize("shared", [True, False])
def test_steps_are_those_of_gymnasium(kind: str, shared: bool) -> None:
    ours, theirs = (batch(library, kind, shared_memory=shared) for library in (ludus, gymnasium))
    try:
        assert_same(ours.reset(seed=0), theirs.reset(seed=0))
        for actions in (np.array([0.1, 0.7]), np.array([0.1, 0.7], np.float32), [1 / 3, 0]):
            results = ours.step(actions), theirs.step(actions)
            assert_same(*results)
            finals = [result[4].get("final_obs") for result in results]
            if finals[1] is not None:
                types = [[type(part) for part in final] for final in finals]
                assert types[0] == types[1]
    finally:
        ours.close()
        theirs.close()


class Slow(ludus.Env):
    """Every call takes as long as it is told."""

    observation_space = action_space = ludus.spaces.Box(0, 9, (), np.float64)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.wait((options or {}).get("seconds", 0.0))
        return np.array(0.0), {}

    def step(self, action: Any) -> Any:
        self.wait(float(action))
        return np.array(0.0), 0.0, False, False, {}

    def wait(self, seconds: float) -> None:
        """Wait, for ``call`` to use."""
        multiprocessing.Event().wait(seconds)


def test_calls_that_take_too_long_raise_what_they_raise_in_gymnasium() -> None:
    envs = ludus.vector.AsyncVectorEnv([Slow] * 2)
    starts = {
        "reset": lambda: envs.reset_async(options={"seconds": 60.0}),
        "step": lambda: envs.step_async(np.array([0.0, 60.0])),
        "call": lambda: envs.call_async("wait", 60.0),
    }
    try:
        for name in starts:
            with pytest.raises(NoAsyncCallError) as caught:
                getattr(envs, f"{name}_wait")(timeout=0.1)
            assert caught.value.name == name
        envs.reset()
        envs.step_async(np.zeros(2))
        for name, start in starts.items():
            with pytest.raises(AlreadyPendingCallError) as pending:
                start()
            assert pending.value.name == "step", name
        envs.step_wait()
    finally:
        envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.step_wait(timeout=0.1)


@pytest.mark.parametrize("name", ["reset", "step", "call"])
def test_a_timeout_leaves_no_call_pending(name: str) -> None:
    envs = ludus.vector.AsyncVectorEnv([Slow] * 2)
    try:
        envs.reset()
        if name == "reset":
            envs.reset_async(options={"seconds": 60.0})
        elif name == "step":
            envs.step_async(np.array([0.0, 60.0]))
        else:
            envs.call_async("wait", 60.0)
        with pytest.raises(multiprocessing.TimeoutError):
            getattr(envs, f"{name}_wait")(timeout=0.2)
        with pytest.raises(NoAsyncCallError):
            getattr(envs, f"{name}_wait")(timeout=0.2)
    finally:
        envs.close(terminate=True)
