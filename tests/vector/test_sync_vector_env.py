from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode, Env
from ludus.errors import ClosedEnvironmentError, EpisodeOver, Error, ResetNeeded, StateError
from ludus.spaces import Box, Dict, Discrete, Graph, Text, Tuple
from ludus.testing import VectorEnvConformance
from ludus.vector.sync_vector_env import SyncVectorEnv
from tests.reference.twins import twin_env


class Counter(Env[Any, int]):
    """Counts its steps and ends after ``length`` of them."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 7}
    state_fields = ("count", "episodes")

    def __init__(self, length: int = 3, observation_space: Any = None) -> None:
        self.length = length
        self.observation_space = observation_space or Box(0.0, 100.0, (2,), np.float32)
        self.action_space = Discrete(5)
        self.render_mode = "ansi"
        self.count = 0
        self.episodes = 0
        self.closed = 0
        self.seen_options: Any = "never reset"

    def observe(self) -> Any:
        if isinstance(self.observation_space, Box):
            return np.array([self.episodes, self.count], np.float32)
        return self.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seen_options = options
        self.count = 0
        self.episodes += 1
        return self.observe(), {"seed": seed} if seed is not None else {}

    def step(self, action: int) -> Any:
        self.count += 1
        return self.observe(), float(action), self.count >= self.length, False, {}

    def render(self) -> str:
        return f"{self.episodes}:{self.count}"

    def close(self) -> None:
        self.closed += 1


def make(*lengths: int, **kwargs: Any) -> SyncVectorEnv[Any, Any]:
    return SyncVectorEnv([partial(Counter, n) for n in lengths or (3, 3)], **kwargs)


NOOP = np.zeros(2, dtype=np.int64)


class TestBoxConformance(VectorEnvConformance):
    observation = "box"

    def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> SyncVectorEnv[Any, Any]:
        return SyncVectorEnv([self.make_single] * num_envs, autoreset_mode=autoreset_mode)

    def make_single(self) -> Any:
        return twin_env(ludus, self.observation)


class TestDictConformance(TestBoxConformance):
    observation = "dict"


def test_spaces_and_metadata() -> None:
    envs = make(1, 2, 3)
    assert envs.num_envs == 3
    assert envs.observation_space == Box(0.0, 100.0, (3, 2), np.float32)
    assert envs.single_observation_space == Box(0.0, 100.0, (2,), np.float32)
    assert envs.single_action_space == Discrete(5)
    assert envs.metadata == {**Counter.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
    assert "autoreset_mode" not in Counter.metadata
    assert envs.render_mode == "ansi"
    assert repr(envs) == "SyncVectorEnv(num_envs=3)"


@pytest.mark.parametrize("mode", [*AutoresetMode, *(mode.value for mode in AutoresetMode)])
def test_autoreset_mode_by_member_or_value(mode: Any) -> None:
    assert make(autoreset_mode=mode).autoreset_mode is AutoresetMode(mode)


def test_next_step_autoreset() -> None:
    envs = make(1, 9)
    envs.reset()
    obs, _, terminated, _, _ = envs.step(NOOP + 4)
    assert obs.tolist() == [[1, 1], [1, 1]]
    assert terminated.tolist() == [True, False]
    obs, rewards, terminated, truncated, _ = envs.step(NOOP + 4)
    assert obs.tolist() == [[2, 0], [1, 2]]
    assert rewards.tolist() == [0.0, 4.0]
    assert not terminated.any()
    assert not truncated.any()


def test_same_step_autoreset() -> None:
    envs = make(1, 9, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset()
    obs, rewards, terminated, _, infos = envs.step(NOOP + 4)
    assert obs.tolist() == [[2, 0], [1, 1]]
    assert rewards.tolist() == [4.0, 4.0]
    assert terminated.tolist() == [True, False]
    assert infos["final_obs"][0].tolist() == [1, 1]
    assert infos["final_obs"][1] is None
    assert infos["_final_obs"].tolist() == [True, False]


def test_disabled_autoreset_wants_a_reset() -> None:
    envs = make(1, 9, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset()
    _, _, terminated, truncated, _ = envs.step(NOOP)
    with pytest.raises(EpisodeOver, match=r"\[0\].*reset_mask") as caught:
        envs.step(NOOP)
    assert isinstance(caught.value, AssertionError)
    assert envs.envs[1].count == 1, "nothing was stepped"

    options = {"reset_mask": terminated | truncated, "level": 2}
    obs, _ = envs.reset(options=options)
    assert obs.tolist() == [[2, 0], [1, 1]]
    assert list(options) == ["reset_mask", "level"], "the caller's dict is left alone"
    assert envs.envs[0].seen_options == {"level": 2}
    assert envs.envs[1].seen_options is None
    envs.step(NOOP)


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False], TypeError),
        (np.array([True]), ValueError),
        (np.array([1, 0]), TypeError),
        (np.array([False, False]), ValueError),
    ],
)
def test_bad_reset_masks(mask: Any, error: type[Exception]) -> None:
    envs = make()
    envs.reset()
    with pytest.raises(error, match="reset_mask"):
        envs.reset(options={"reset_mask": mask})


def test_first_reset_must_be_whole() -> None:
    with pytest.raises(ResetNeeded, match="reset_mask"):
        make().reset(options={"reset_mask": np.array([True, False])})


@pytest.mark.parametrize(("seed", "expected"), [(7, [7, 8]), ([3, 5], [3, 5]), ((9, 9), [9, 9])])
def test_seeds(seed: Any, expected: list[int]) -> None:
    envs = make()
    _, infos = envs.reset(seed=seed)
    assert infos["seed"].tolist() == expected
    assert envs.np_random_seed == tuple(expected)
    assert all(isinstance(rng, np.random.Generator) for rng in envs.np_random)


def test_a_none_in_the_seeds_leaves_that_generator() -> None:
    envs = make()
    envs.reset(seed=5)
    _, infos = envs.reset(seed=[None, 1])
    assert infos["_seed"].tolist() == [False, True]
    assert envs.np_random_seed == (5, 1)


@pytest.mark.parametrize(
    ("seed", "error"), [([1], ValueError), (np.int64(1), TypeError), (1.5, TypeError), (-1, Error)]
)
def test_bad_seeds(seed: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make().reset(seed=seed)


@pytest.mark.parametrize("actions", [np.zeros(1, np.int64), np.zeros(3, np.int64), []])
def test_wrong_number_of_actions(actions: Any) -> None:
    envs = make()
    envs.reset()
    with pytest.raises(ValueError, match=f"Expected 2 actions.*got {len(actions)}"):
        envs.step(actions)
    assert [env.count for env in envs.envs] == [0, 0], "nothing was stepped"


def test_actions_may_be_a_list() -> None:
    envs = make()
    envs.reset()
    assert envs.step([1, 4])[1].tolist() == [1.0, 4.0]


def test_copy() -> None:
    envs = make()
    first, _ = envs.reset()
    second = envs.step(NOOP)[0]
    assert first.tolist() == [[1, 0], [1, 0]]
    assert second.tolist() == [[1, 1], [1, 1]]

    envs = make(copy=False)
    first, _ = envs.reset()
    assert envs.step(NOOP)[0] is first


@pytest.mark.parametrize(
    "space",
    [
        Dict(a=Box(0, 1, (2,)), b=Tuple([Discrete(3), Text(4)])),
        Graph(Box(0, 1, (2,)), Discrete(3)),
        Text(5),
    ],
    ids=lambda space: type(space).__name__,
)
def test_structured_observations_are_copies(space: Any) -> None:
    envs = SyncVectorEnv([partial(Counter, 3, space)] * 2)
    obs, _ = envs.reset()
    assert obs in envs.observation_space
    before = repr(obs)
    envs.step(NOOP)
    assert repr(obs) == before


def test_later_steps_leave_earlier_results_alone() -> None:
    envs = make(1, 2)
    envs.reset()
    results = [envs.step(NOOP + i) for i in range(4)]
    assert [r[1].tolist() for r in results] == [[0, 0], [0, 1], [2, 0], [0, 3]]
    assert [r[2].tolist() for r in results] == [
        [True, False],
        [False, True],
        [True, False],
        [False, False],
    ]


def test_observation_modes() -> None:
    narrow, wide = Box(0.0, 1.0, (2,), np.float32), Box(0.0, 9.0, (2,), np.float32)
    fns = [partial(Counter, 3, narrow), partial(Counter, 3, wide)]
    with pytest.raises(RuntimeError, match=r"environment 1.*observation_mode='different'"):
        SyncVectorEnv(fns)
    envs = SyncVectorEnv(fns, observation_mode="different")
    assert envs.observation_space.high.tolist() == [[1, 1], [9, 9]]
    batched = Box(0.0, 9.0, (2, 2), np.float32)
    envs = SyncVectorEnv(fns, observation_mode=(batched, wide))
    assert (envs.observation_space, envs.single_observation_space) == (batched, wide)


@pytest.mark.parametrize(
    ("kwargs", "error", "match"),
    [
        ({"observation_mode": "other"}, ValueError, "observation_mode"),
        ({"observation_mode": (1, 2, 3)}, ValueError, "observation_mode"),
        ({"observation_mode": (1, 2)}, TypeError, "Spaces"),
        ({"autoreset_mode": "other"}, ValueError, "other"),
    ],
)
def test_bad_constructor_arguments(kwargs: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make(**kwargs)


def test_no_environments() -> None:
    with pytest.raises(IndexError, match="at least one"):
        SyncVectorEnv([])


def test_environments_are_closed_if_construction_fails() -> None:
    built: list[Counter] = []

    def build(space: Any = None) -> Counter:
        built.append(Counter(3, space))
        return built[-1]

    with pytest.raises(RuntimeError, match="observation"):
        SyncVectorEnv([build, partial(build, Box(0, 1))])
    with pytest.raises(RuntimeError, match="common shape and dtype"):
        SyncVectorEnv([build, partial(build, Box(0, 1))], observation_mode=(Box(0, 1), Box(0, 1)))
    assert [env.closed for env in built] == [1, 1, 1, 1]


def test_different_action_spaces() -> None:
    def odd() -> Counter:
        env = Counter()
        env.action_space = Discrete(2)
        return env

    with pytest.raises(RuntimeError, match="action space of environment 1"):
        SyncVectorEnv([Counter, odd])


def test_call_get_and_set_attr() -> None:
    envs = make(1, 2)
    envs.reset()
    assert envs.render() == envs.call("render") == ("1:0", "1:0")
    assert envs.get_attr("length") == (1, 2)
    envs.set_attr("length", [5, 6])
    assert envs.get_attr("length") == (5, 6)
    envs.set_attr("length", 8)
    assert envs.get_attr("length") == (8, 8)
    with pytest.raises(ValueError, match="3 values for 2 environments"):
        envs.set_attr("length", (1, 2, 3))


def test_use_after_close() -> None:
    envs = make()
    envs.reset()
    state = envs.get_state()
    envs.close()
    envs.close()
    assert [env.closed for env in envs.envs] == [1, 1]
    for use in (
        envs.reset,
        envs.render,
        envs.get_state,
        partial(envs.step, NOOP),
        partial(envs.call, "render"),
        partial(envs.set_attr, "length", 1),
        partial(envs.set_state, state),
    ):
        with pytest.raises(ClosedEnvironmentError, match=r"after close\(\)"):
            use()


def test_close_reaches_every_environment() -> None:
    class Broken(Counter):
        def close(self) -> None:
            super().close()
            raise OSError("cannot close")

    envs = SyncVectorEnv([Broken, Counter])
    with pytest.raises(OSError, match="cannot close"):
        envs.close()
    assert [env.closed for env in envs.envs] == [1, 1]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_state_round_trip(mode: AutoresetMode) -> None:
    envs, twin = make(2, 4, autoreset_mode=mode), make(2, 4, autoreset_mode=mode)
    envs.reset(seed=1)
    envs.step(NOOP)
    envs.step(NOOP)
    state = envs.get_state()
    twin.set_state(state)

    def rollout(target: SyncVectorEnv[Any, Any]) -> list[Any]:
        if mode is AutoresetMode.DISABLED:
            parts = [target.reset(options={"reset_mask": np.array([True, False])})]
            parts.append(target.step(NOOP))
        else:
            parts = [target.step(NOOP) for _ in range(3)]
        return [repr(part) for part in parts]

    expected = rollout(envs)
    assert rollout(twin) == expected
    envs.set_state(state)
    assert rollout(envs) == expected
    assert twin.np_random_seed == (1, 2)


def test_state_must_fit() -> None:
    state = make(1, 2).get_state()
    with pytest.raises(StateError, match="'num_envs': 2"):
        make(1, 2, 3).set_state(state)
    with pytest.raises(StateError, match="SyncVectorEnv"):
        make().set_state({"vector_env": "Other"})


def test_errors_of_an_environment_come_through() -> None:
    class Failing(Counter):
        def step(self, action: int) -> Any:
            raise LookupError("inside")

    envs = SyncVectorEnv([Failing])
    envs.reset()
    with pytest.raises(LookupError, match="inside"):
        envs.step(np.array([0]))
