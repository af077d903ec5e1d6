from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ludus.classic as gym
from ludus.classic import error, spaces
from tests.classic.old_envs import Counter, Underscores


def test_the_base_class_has_the_classic_defaults() -> None:
    env = gym.Env()
    assert env.metadata == {"render.modes": []}
    assert env.reward_range == (-np.inf, np.inf)
    assert env.spec is None
    assert env.unwrapped is env
    assert env.seed(3) is None
    assert str(env) == "<Env instance>"
    env.close()
    for method, arguments in (("step", (0,)), ("reset", ())):
        with pytest.raises(NotImplementedError, match=method):
            getattr(env, method)(*arguments)
    with pytest.raises(error.Error, match="configure"):
        env.configure(fast=True)


def test_underscore_methods_are_called_by_the_public_ones() -> None:
    env = Underscores()
    assert env.reset() == 0
    assert env.step(1) == (1, 1.0, False, {})
    assert env.seed(4) == [4]
    assert env.render(mode="ansi") == "shown\n"
    env.render(close=True)
    env.close()
    env.close()
    assert env.calls == [("seed", 4), ("ansi", False), ("human", True), "close"]


def test_a_mode_that_is_not_offered_is_refused() -> None:
    with pytest.raises(error.UnsupportedMode, match=r"rgb_array.*\['ansi'\]"):
        Underscores().render(mode="rgb_array")


def test_context_manager_closes() -> None:
    with Counter() as env:
        env.reset()
    assert env.closed == 1


class Reach(gym.GoalEnv):
    def __init__(self, keys: tuple[str, ...]) -> None:
        self.observation_space = spaces.Dict({key: spaces.Discrete(2) for key in keys})

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> float:
        return float(achieved_goal == desired_goal)


def test_goal_env_checks_its_observation_space() -> None:
    env = Reach(("observation", "achieved_goal", "desired_goal"))
    env.reset()
    assert gym.Wrapper(env).compute_reward(1, 1, {}) == 1.0
    with pytest.raises(error.Error, match="desired_goal"):
        Reach(("observation", "achieved_goal")).reset()
    env.observation_space = spaces.Discrete(2)
    with pytest.raises(error.Error, match="Dict"):
        env.reset()


class TestWrapper:
    def test_everything_passes_through(self) -> None:
        inner = Counter()
        env = gym.Wrapper(inner)
        assert env.unwrapped is inner
        assert env.action_space is inner.action_space
        assert env.reward_range == (0.0, 5.0)
        assert env.metadata is inner.metadata
        assert env.seed(5) == [5]
        assert env.reset()[0] == 0
        assert env.step(2)[1:] == (2.0, False, {"count": 1})
        assert env.render(mode="ansi") == "count 1\n"
        assert env.length == 5
        assert str(env) == "<Wrapper<Counter instance>>"
        env.close()
        assert inner.closed == 1

    def test_private_attributes_do_not_pass_through(self) -> None:
        inner = Counter()
        inner._secret = 1  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match="private attribute"):
            _ = gym.Wrapper(inner)._secret

    def test_assigned_attributes_are_the_wrappers_own(self) -> None:
        inner = Counter()
        env = gym.Wrapper(inner)
        env.action_space = spaces.Discrete(9)
        env.reward_range = (0.0, 1.0)
        env.metadata = {"render.modes": []}
        assert inner.action_space.n == 3
        assert env.action_space.n == 9
        assert (env.reward_range, env.metadata) == ((0.0, 1.0), {"render.modes": []})

    @pytest.mark.parametrize("prefix", ["", "_"])
    def test_the_three_kinds_in_both_styles(self, prefix: str) -> None:
        def wrapper(base: Any, name: str, function: Any) -> Any:
            return type("Mine", (base,), {prefix + name: lambda self, value: function(value)})

        env = wrapper(gym.ObservationWrapper, "observation", lambda o: o + 10)(Counter())
        assert env.reset()[0] == 10
        assert env.step(0)[0][0] == 11
        env = wrapper(gym.RewardWrapper, "reward", lambda r: r * 10)(Counter())
        env.reset()
        assert env.step(2)[1] == 20.0
        env = wrapper(gym.ActionWrapper, "action", lambda a: a + 1)(Counter())
        env.reset()
        assert env.step(1)[1] == 2.0
        assert (
            wrapper(gym.ActionWrapper, "reverse_action", lambda a: a - 1)(Counter()).reverse_action(
                3
            )
            == 2
        )

    def test_underscore_wrappers(self) -> None:
        class Doubling(gym.Wrapper):
            def _step(self, action: Any) -> Any:
                observation, reward, done, info = self.env.step(action)
                return observation, 2 * reward, done, info

            def _reset(self) -> Any:
                return self.env.reset() + 1

        env = Doubling(Counter())
        assert env.reset()[0] == 1
        assert env.step(2)[1] == 4.0

    def test_a_wrapper_that_forgot_its_constructor_says_so(self) -> None:
        class Forgetful(gym.Wrapper):
            def __init__(self, env: Any) -> None:
                pass

        with pytest.raises(AttributeError, match="__init__"):
            _ = Forgetful(Counter()).anything


def test_errors_form_the_classic_tree() -> None:
    assert issubclass(error.UnregisteredEnv, error.Unregistered)
    assert issubclass(error.UnregisteredBenchmark, error.Unregistered)
    assert issubclass(error.Unregistered, error.Error)
    for name in (
        "APIConnectionError",
        "InvalidRequestError",
        "AuthenticationError",
        "RateLimitError",
    ):
        assert issubclass(getattr(error, name), error.APIError)
    for name in error.__all__:
        assert issubclass(getattr(error, name), Exception)
    assert issubclass(error.NotResetYet, AssertionError)


def test_logger_level_is_shared_with_ludus(monkeypatch: pytest.MonkeyPatch) -> None:
    from ludus import logger as modern

    monkeypatch.setattr(modern, "min_level", 30)
    with pytest.warns(UserWarning, match="careful 3"):
        gym.logger.warn("careful %d", 3)
    gym.logger.set_level(gym.logger.ERROR)
    assert modern.min_level == 40
    gym.logger.warn("dropped")
    with pytest.warns(UserWarning, match="broken"):
        gym.logger.error("broken")
    gym.logger.info("nobody listens")
    gym.logger.debug("nobody listens")
