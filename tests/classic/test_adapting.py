"""Old and foreign environments behind the Ludus contract."""

from __future__ import annotations

import io
import pickle
import warnings
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.core.foreign.classic_adapter import (
    ClassicAdapter,
    adapt,
    needs_adapting,
    take_render_mode,
)
from tests.classic.old_envs import Counter, Underscores
from tests.reference.twins import assert_same, twin_env


class OldStyle(ludus.Env):
    """What becomes of an old environment when only its import is changed."""

    metadata = {"render.modes": ["human", "rgb_array", "ansi"], "video.frames_per_second": 5}

    def __init__(self) -> None:
        self.observation_space = ludus.spaces.Discrete(100)
        self.action_space = ludus.spaces.Discrete(2)
        self.modes: list[str] = []

    def seed(self, seed: int | None = None) -> list[int | None]:
        self.np_random, _ = ludus.seeding.np_random(seed)
        return [seed]

    def reset(self) -> Any:  # type: ignore[override]
        return int(self.np_random.integers(100))

    def step(self, action: Any) -> Any:
        return int(self.np_random.integers(100)), 1, np.bool_(action == 1), {}

    def render(self, mode: str = "human") -> Any:  # type: ignore[override]
        self.modes.append(mode)
        return io.StringIO("frame\n") if mode == "ansi" else None


class Oldest(ludus.Env):
    def __init__(self) -> None:
        self.observation_space = ludus.spaces.Discrete(3)
        self.action_space = ludus.spaces.Discrete(2)
        self.seeds: list[Any] = []

    def _seed(self, seed: Any = None) -> None:
        self.seeds.append(seed)

    def _reset(self) -> int:
        return 0

    def _step(self, action: Any) -> Any:
        return 1, 0.5, True, {"TimeLimit.truncated": True}

    def _render(self, mode: str = "human", close: bool = False) -> str:
        return mode


class Between(ludus.Env):
    """Gym 0.22 to 0.25: a seed in reset, but the old step, and an optional info."""

    observation_space = ludus.spaces.Discrete(3)
    action_space = ludus.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, return_info: bool = False, options: Any = None) -> Any:
        super().reset(seed=seed)
        return (1, {"options": options}) if return_info else 1

    def step(self, action: Any) -> Any:
        return 2, 0.0, False, {}


@pytest.fixture
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("cls", [OldStyle, Oldest, Between, Counter, Underscores])
def test_old_environments_are_found(cls: Any) -> None:
    assert needs_adapting(cls())


def test_modern_environments_are_left_alone() -> None:
    class WithSeedMethod(ludus.Env):
        def seed(self, seed: int | None = None) -> None: ...

        def reset(self, **kwargs: Any) -> Any: ...

    assert not needs_adapting(WithSeedMethod())
    assert not needs_adapting(twin_env(ludus))
    assert not needs_adapting(ludus.make("CartPole-v1"))
    assert not needs_adapting(ludus.make_vec("CartPole-v1", num_envs=2))
    assert not needs_adapting(object())
    assert not needs_adapting(SimpleNamespace(step=1, reset=1))


def test_gymnasium_environments_are_adapted_without_a_warning() -> None:
    env = twin_env(gymnasium, "dict", "box")
    assert needs_adapting(env)
    adapted = adapt(env)
    plain = twin_env(ludus, "dict", "box")
    assert adapted.observation_space == plain.observation_space
    assert_same(adapted.reset(seed=3), plain.reset(seed=3))
    action = np.zeros(2, np.float32)
    for _ in range(5):
        assert_same(adapted.step(action), plain.step(action))
    assert adapted.np_random is env.np_random


def test_a_bare_object_with_the_four_parts_will_do() -> None:
    class Bare:
        action_space = ludus.spaces.Discrete(2)
        observation_space = ludus.spaces.Discrete(2)

        def reset(self, **kwargs: Any) -> Any:
            return 0, kwargs

        def step(self, action: Any) -> Any:
            return 1, 0.0, True, False, {}

    env = adapt(Bare())
    assert env.reset(seed=3) == (0, {"seed": 3})
    assert env.step(0) == (1, 0.0, True, False, {})
    env.spec = ludus.spec("CartPole-v1")
    env.close()
    assert env.metadata == {"render_modes": []}


def test_one_warning_per_class() -> None:
    class Fresh(OldStyle):
        pass

    with pytest.warns(UserWarning, match="Fresh is written for the classic API"):
        adapt(Fresh())
    adapt(Fresh())


@pytest.mark.usefixtures("quiet")
def test_the_new_contract() -> None:
    env = adapt(OldStyle())
    first = env.reset(seed=5)
    assert first == env.reset(seed=5)
    assert first[1] == {}
    _, reward, terminated, truncated, info = env.step(1)
    assert (reward, terminated, truncated, info) == (1, True, False, {})
    assert type(terminated) is bool
    assert env.metadata["render_modes"] == ["human", "rgb_array", "ansi"]
    assert env.metadata["render_fps"] == 5
    env.close()


@pytest.mark.usefixtures("quiet")
def test_the_oldest_contract() -> None:
    inner = Oldest()
    env = adapt(inner, render_mode="ansi")
    assert env.reset(seed=8) == (0, {})
    assert inner.seeds == [8]
    assert env.step(0) == (1, 0.5, False, True, {})
    assert env.render() == "ansi"


@pytest.mark.usefixtures("quiet")
def test_the_contract_in_between() -> None:
    env = adapt(Between())
    assert env.reset(seed=1, options={"a": 1}) == (1, {"options": {"a": 1}})
    assert env.step(0) == (2, 0.0, False, False, {})


@pytest.mark.usefixtures("quiet")
def test_the_render_mode_is_handed_to_render() -> None:
    inner = OldStyle()
    env = adapt(inner, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "frame\n"
    human = adapt(OldStyle(), render_mode="human")
    human.reset(seed=0)
    human.step(0)
    assert human.unwrapped.modes == ["human", "human"]  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="render mode"):
        assert adapt(OldStyle()).render() is None


def test_take_render_mode_only_from_old_classes() -> None:
    arguments = {"render_mode": "ansi", "x": 1}
    assert take_render_mode(OldStyle, arguments) == "ansi"
    assert arguments == {"x": 1}
    assert take_render_mode(OldStyle, arguments) is None
    modern = {"render_mode": "ansi"}
    assert take_render_mode(type(ludus.make("CartPole-v1").unwrapped), modern) is None
    assert take_render_mode(lambda render_mode: None, modern) is None
    assert modern == {"render_mode": "ansi"}


@pytest.mark.usefixtures("quiet")
def test_spec_and_attributes_reach_the_environment() -> None:
    inner = OldStyle()
    env = adapt(inner)
    assert env.spec is None
    env.spec = ludus.spec("CartPole-v1")
    assert inner.spec is env.spec
    inner.level = 1  # type: ignore[attr-defined]
    assert env.get_wrapper_attr("level") == 1
    env.unwrapped.level = 2  # type: ignore[attr-defined]
    assert inner.level == 2  # type: ignore[attr-defined]
    generator = np.random.default_rng(0)
    env.np_random = generator
    assert inner.np_random is generator is env.np_random
    assert isinstance(pickle.loads(pickle.dumps(env)), ClassicAdapter)


@pytest.mark.usefixtures("quiet")
def test_an_environment_with_old_wrappers_is_seeded_by_its_seed_method() -> None:
    import ludus.classic as gym

    env = adapt(gym.wrappers.TimeLimit(gym.Wrapper(Counter(length=9)), 2))
    assert env.reset(seed=0)[0][1] == pytest.approx(0.05436006)
    env.step(0)
    assert env.step(0)[2:4] == (False, True)


@pytest.mark.usefixtures("quiet")
def test_an_observation_that_is_a_pair_is_no_info() -> None:
    class Pair(OldStyle):
        def __init__(self) -> None:
            super().__init__()
            s = ludus.spaces
            self.observation_space = s.Tuple((s.Discrete(2), s.Dict({"a": s.Discrete(2)})))

        def reset(self) -> Any:
            return 1, {"a": 1}

    assert adapt(Pair()).reset() == ((1, {"a": 1}), {})
