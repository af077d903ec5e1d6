"""Subclasses that override what Gymnasium's environments call: it has its effect, or is refused."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import ludus

gymnasium = pytest.importorskip("gymnasium")

IDS = (
    *("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"),
    *("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1"),
    *("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"),
    *("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "InvertedDoublePendulum-v5", "Reacher-v5"),
    *("Swimmer-v5", "Walker2d-v5", "Hopper-v4"),
)


def overriding(cls: type, name: str, calls: list[str]) -> type:
    """Return a subclass that notes the calls of one method or property, and passes them on."""
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return getattr(super(made, self), name)(*args, **kwargs)

    def value(self: Any) -> Any:
        calls.append(name)
        return getattr(super(made, self), name)

    body = {name: property(value) if isinstance(found, property) else method}
    made = type("Mine", (cls,), {"__module__": __name__, **body})
    return made


def play(cls: Any, env_id: str) -> None:
    env = cls(**gymnasium.spec(env_id).kwargs, render_mode="rgb_array")
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(2):
        env.step(env.action_space.sample())
    if "mujoco" not in cls.__mro__[1].__module__:
        env.render()
    env.reset()
    env.close()


def methods_of(cls: type) -> list[str]:
    bases = [base for base in cls.__mro__ if base.__module__.startswith("gymnasium.envs")]
    kinds = (property, staticmethod, classmethod)
    return sorted(
        name
        for base in bases
        for name, value in vars(base).items()
        if not name.startswith("__") and (callable(value) or isinstance(value, kinds))
    )


def is_called(cls: type, name: str, env_id: str) -> bool:
    calls: list[str] = []
    made = overriding(cls, name, calls)
    try:
        play(made, env_id)
    except Exception:
        # What matters is whether it was called before that.
        if not calls:
            raise
    return bool(calls)


@pytest.mark.parametrize("env_id", IDS)
def test_methods_that_gymnasium_calls_are_called_or_refused(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (type(lib.make(env_id).unwrapped) for lib in (gymnasium, ludus))
        tried = [name for name in methods_of(theirs) if is_called(theirs, name, env_id)]
        assert {"reset", "step"} <= set(tried)
        ignored = [name for name in tried if not is_called_or_refused(ours, name, env_id)]
    assert not ignored


def is_called_or_refused(cls: type, name: str, env_id: str) -> bool:
    try:
        return is_called(cls, name, env_id)
    except TypeError as problem:
        return f"overrides {name}()" in str(problem)


def test_a_hook_that_the_subclass_uses_itself_is_its_own():
    from ludus.envs.mujoco.walkers import HopperEnv

    class Shaped(HopperEnv):
        def control_cost(self, action):
            return 7.0

        def step(self, action):
            observation, reward, *rest = super().step(action)
            return observation, reward - self.control_cost(action), *rest

    env, plain = Shaped(), HopperEnv()
    for one in (env, plain):
        one.reset(seed=1)
    action = env.action_space.sample()
    assert env.step(action)[1] == plain.step(action)[1] - 7.0

    with pytest.raises(TypeError, match=r"overrides control_cost\(\), which HopperEnv of Ludus"):
        type("Ignored", (HopperEnv,), {"control_cost": lambda self, action: 7.0})
