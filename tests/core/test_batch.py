"""What every batch does alike, shown with small backends."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode, Env
from ludus.core.batch import BatchEnv, Stepped
from ludus.core.batch_arguments import BatchedSpaces
from ludus.core.episodes import Episodes
from ludus.core.infos import Columns, Infos
from ludus.errors import (
    ClosedEnvironmentError,
    EpisodeOver,
    Inadmissible,
    ResetNeeded,
    StateError,
)
from ludus.spaces import concatenate, create_empty_array, iterate
from ludus.testing import CounterEnv, VectorEnvConformance

NEXT, SAME, DISABLED = AutoresetMode


class Rowwise(BatchEnv[Any, Any]):
    """Steps single environments in a loop and leaves every decision to the base."""

    def __init__(self, build: Any, num_envs: int, mode: AutoresetMode, limit: int | None = None):
        self.envs: list[Env[Any, Any]] = [build() for _ in range(num_envs)]
        first = self.envs[0]
        spaces = BatchedSpaces.of(first.observation_space, first.action_space, num_envs)
        super().__init__(
            num_envs,
            spaces,
            metadata=first.metadata,
            autoreset_mode=mode,
            max_episode_steps=limit,
        )
        self.seen: list[Any] = [None] * num_envs

    def _reset_rows(self, rows: Any, seeds: Any, options: Any) -> Infos:
        infos = []
        for row in rows.tolist():
            seed = None if seeds is None else seeds[row]
            self.seen[row], info = self.envs[row].reset(seed=seed, options=options)
            infos.append(info)
        return infos

    def _read_actions(self, actions: Any) -> list[Any]:
        return list(iterate(self.action_space, actions))

    def _step_rows(self, rows: Any, actions: Any) -> Stepped:
        rewards, flags = np.zeros(len(rows)), np.zeros((2, len(rows)), np.bool_)
        infos = []
        for at, row in enumerate(rows.tolist()):
            result = self.envs[row].step(actions[row])
            self.seen[row], rewards[at], flags[0, at], flags[1, at], info = result
            infos.append(info)
        return rewards, flags[0], flags[1], infos

    def _final_observations(self, rows: Any) -> list[Any]:
        return [self.seen[row] for row in rows.tolist()]

    def _observe(self) -> Any:
        space = self.single_observation_space
        return concatenate(space, self.seen, create_empty_array(space, self.num_envs))

    def _identity(self) -> dict[str, Any]:
        return {"num_envs": self.num_envs}

    def _save(self) -> dict[str, Any]:
        return {
            "envs": [env.get_state() for env in self.envs],
            "over": self._episodes.over.copy(),
            "sums": self._episodes.save(),
        }

    def _load(self, state: dict[str, Any]) -> None:
        for env, inner in zip(self.envs, state["envs"], strict=True):
            env.set_state(inner)
        self._episodes.load(started=True, over=state["over"], sums=state["sums"])


class Columnwise(Rowwise):
    """Tells infos in columns."""

    def _reset_rows(self, rows: Any, seeds: Any, options: Any) -> Columns:
        return _columns(super()._reset_rows(rows, seeds, options))

    def _step_rows(self, rows: Any, actions: Any) -> Stepped:
        *results, infos = super()._step_rows(rows, actions)
        return *results, _columns(infos)


class SelfResetting(Rowwise):
    """Resets finished environments in its own step."""

    resets_itself = frozenset(AutoresetMode)

    def _step_rows(self, rows: Any, actions: Any) -> Stepped:
        rewards, flags = np.zeros(self.num_envs), np.zeros((2, self.num_envs), np.bool_)
        merged: dict[str, Any] = {}
        for row, env in enumerate(self.envs):
            if self._episodes.over[row]:
                self.seen[row], info = env.reset()
            else:
                self.seen[row], rewards[row], *ends, info = env.step(actions[row])
                flags[:, row] = ends
                if any(ends) and self.autoreset_mode is SAME:
                    final = {"final_obs": self.seen[row], "final_info": info}
                    self._add_info(merged, final, row)
                    self.seen[row], info = env.reset()
            self._add_info(merged, info, row)
        return rewards, flags[0], flags[1], merged


class Split(Rowwise):
    """Steps each row in a thread, started and finished apart."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._threads = ThreadPoolExecutor(2)
        self._running: dict[int, Future[Any]] = {}

    def _start(self, rows: Any, actions: Any) -> None:
        for row in rows.tolist():
            self._running[row] = self._threads.submit(self.envs[row].step, actions[row])

    def _finish(self, count: int, deadline: float | None) -> tuple[Any, Stepped]:
        rows = sorted(self._running)[:count]
        results = [self._running.pop(row).result() for row in rows]
        seen, rewards, ended, cut, infos = zip(*results, strict=True)
        for row, observation in zip(rows, seen, strict=True):
            self.seen[row] = observation
        return np.array(rows), (np.array(rewards), np.array(ended), np.array(cut), infos)

    _step_rows = BatchEnv._step_rows

    def close_extras(self, **kwargs: Any) -> None:
        self._threads.shutdown()


def _columns(infos: Any) -> Columns:
    return Columns({key: np.array([info[key] for info in infos]) for key in infos[0]})


class _Suite(VectorEnvConformance):
    backend: Any = Rowwise

    def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> Any:
        return self.backend(CounterEnv, num_envs, autoreset_mode)

    def make_single(self) -> Any:
        return CounterEnv()


class TestRowwise(_Suite):
    pass


class TestColumnwise(_Suite):
    backend = Columnwise


class TestSelfResetting(_Suite):
    backend = SelfResetting


class TestSplit(_Suite):
    backend = Split


BACKENDS = (Rowwise, Columnwise, SelfResetting, Split)


def _make(backend: Any, mode: AutoresetMode = NEXT, num_envs: int = 3, **options: Any) -> Any:
    return backend(CounterEnv, num_envs, mode, **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_out_of_order(backend: Any) -> None:
    env = _make(backend, DISABLED)
    actions = np.ones(3, np.int64)
    with pytest.raises(ResetNeeded, match=r"reset\(\) before the first step\(\)"):
        env.step(actions)
    with pytest.raises(ResetNeeded, match="must be a whole one"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(seed=0, options={"count": 9})
    env.step(actions)
    with pytest.raises(EpisodeOver, match=r"\[0, 1, 2\] are over"):
        env.step(actions)
    env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(EpisodeOver, match=r"\[1\] are over"):
        env.step(actions)
    env.close()
    for call in (lambda: env.step(actions), env.reset, env.get_state, lambda: env.set_state({})):
        with pytest.raises(ClosedEnvironmentError, match=r"after close\(\)"):
            call()


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("backend", [Rowwise, Columnwise, Split])
def test_time_limits(backend: Any, mode: AutoresetMode) -> None:
    env = _make(backend, mode, limit=4)
    env.reset(seed=0)
    waiting, cuts = np.zeros(3, np.int64), []
    for step in range(1, 15):
        _, _, _, truncations, infos = env.step(waiting)
        assert (truncations == truncations[0]).all()
        if truncations[0]:
            cuts.append(step)
            assert ("final_info" in infos) == (mode is SAME)
            if mode is SAME:
                assert infos["final_info"]["steps"].tolist() == [4, 4, 4]
                assert infos["steps"].tolist() == [0, 0, 0]
            if mode is DISABLED:
                env.reset(options={"reset_mask": truncations})
    assert cuts == ([4, 9, 14] if mode is NEXT else [4, 8, 12])


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("backend", BACKENDS)
def test_statistics_equal_those_of_compiled_batches(backend: Any, mode: AutoresetMode) -> None:
    options = {"autoreset_mode": mode}
    compiled = ludus.make_vec("CartPole-v1", 3, max_episode_steps=20, vector_kwargs=options)
    env = backend(lambda: ludus.make("CartPole-v1", max_episode_steps=20), 3, mode)
    names = ("episode_returns", "episode_lengths", "last_episode_returns", "last_episode_lengths")
    compiled.reset(seed=5)
    env.reset(seed=5)
    env.action_space.seed(5)
    for step in range(80):
        actions = env.action_space.sample()
        _, _, terminations, truncations, _ = compiled.step(actions)
        env.step(actions)
        for name in names:
            np.testing.assert_array_equal(
                getattr(env, name), getattr(compiled, name), f"{name}, step {step}"
            )
        over = terminations | truncations
        if mode is DISABLED and over.any():
            compiled.reset(options={"reset_mask": over})
            env.reset(options={"reset_mask": over})
    assert env.last_episode_lengths.all()
    compiled.close()
    env.close()


def test_batches_that_count_nothing_have_no_statistics() -> None:
    env = ludus.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    assert not hasattr(env, "episode_returns")
    assert not hasattr(env, "last_episode_lengths")


def test_states_belong_to_one_kind_of_batch() -> None:
    env = _make(Rowwise)
    env.reset(seed=1)
    for wrong, match in (
        (None, "dict"),
        ({}, "cannot be set on 'Rowwise'"),
        ({**env.get_state(), "vector_env": "Columnwise"}, "taken from 'Columnwise'"),
        (_make(Rowwise, num_envs=2).get_state(), "'num_envs': 2"),
        ({**env.get_state(), "envs": 3}, "damaged"),
        ({**env.get_state(), "sums": {"lengths": [1, 2]}}, "damaged"),
    ):
        with pytest.raises(StateError, match=match):
            env.set_state(wrong)


def test_states_hold_the_statistics() -> None:
    env, other = _make(Rowwise, limit=6), _make(Rowwise, limit=6)
    env.reset(seed=1)
    actions = np.array([0, 1, 0])
    for _ in range(5):
        env.step(actions)
    other.set_state(env.get_state())
    assert other.episode_lengths.tolist() == [5, 5, 5]
    assert other.episode_returns.tolist() == env.episode_returns.tolist()
    assert other.step(actions)[3][0]


def test_a_backend_without_states_says_so() -> None:
    class Plain(Rowwise):
        _save, _load = BatchEnv._save, BatchEnv._load

    env = _make(Plain)
    with pytest.raises(StateError, match="cannot save"):
        env.get_state()
    with pytest.raises(StateError, match="cannot restore"):
        env.set_state({"vector_env": "Plain", "num_envs": 3})


def test_rows_can_be_finished_in_parts() -> None:
    env = _make(Split, num_envs=4)
    env.reset(seed=0, options={"count": 0})
    env._start(env._all, [1, 0, 1, 0])
    first, (rewards, *_) = env._finish(1, None)
    rest, (others, *_) = env._finish(3, None)
    assert [*first.tolist(), *rest.tolist()] == [0, 1, 2, 3]
    assert [*rewards.tolist(), *others.tolist()] == [1.0, 0.0, 1.0, 0.0]
    env.close()


def _played(mode: AutoresetMode, groups: Sequence[Sequence[int]]) -> Episodes:
    """Count five steps of each row, in groups; each step earns 1, and the third ends."""
    episodes = Episodes(3, mode)
    episodes.begin(np.arange(3))
    for step in range(1, 6):
        for group in groups:
            rows = np.array(group)
            over = np.full(len(rows), step == 3)
            rewards = np.full(len(rows), float(step != 4 or mode is not NEXT))
            whole = len(rows) == 3
            episodes.count(rewards, over, None if whole else rows)
    return episodes


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_parts_of_a_batch_count_like_the_whole(mode: AutoresetMode) -> None:
    whole = _played(mode, [[0, 1, 2]])
    parts = _played(mode, [[0, 2], [1]])
    for name, value in whole.save().items():
        assert parts.save()[name].tolist() == value.tolist(), name
    assert whole.lengths.tolist() == ([1, 1, 1] if mode is NEXT else [2, 2, 2])
    assert whole.last_lengths.tolist() == [3, 3, 3]


def test_the_count_tells_whether_an_episode_ended() -> None:
    none, one = np.zeros(2, np.bool_), np.array([False, True])
    for mode in AutoresetMode:
        for sums in (True, False):
            episodes = Episodes(2, mode, sums=sums)
            episodes.begin(np.arange(2))
            assert not episodes.count(np.zeros(2), none)
            assert episodes.count(np.zeros(2), one)
            assert episodes.any_over is (mode is not SAME)
            assert episodes.over.tolist() == ([False, False] if mode is SAME else [False, True])


def test_an_ended_episode_of_another_mode_is_counted_once() -> None:
    episodes = Episodes(2, SAME)
    episodes.load(started=True, over=np.array([False, True]), sums={"lengths": 4, "returns": 2.0})
    for length in (1, 2):
        episodes.count(np.ones(2), np.zeros(2, np.bool_))
        assert episodes.lengths.tolist() == [4 + length, length - 1]
        assert episodes.last_lengths.tolist() == [0, 4]
        assert not episodes.any_over
        assert not episodes.over.any()


def test_flags_of_others_are_compared_with_the_counts() -> None:
    episodes = Episodes(2, NEXT, limit=2)
    episodes.begin(np.arange(2))
    none, both = np.zeros(2, np.bool_), np.ones(2, np.bool_)
    zeros = np.zeros(2)
    episodes.check_flags(zeros, none, none)
    episodes.count(zeros, none)
    with pytest.raises(Inadmissible, match="environment 0 made 2 steps"):
        episodes.check_flags(zeros, none, none)
    episodes.check_flags(zeros, both, both)
    episodes.count(zeros, both)
    with pytest.raises(Inadmissible, match="it is the reset"):
        episodes.check_flags(np.ones(2), none, none)
    with pytest.raises(Inadmissible, match="it is the reset"):
        episodes.check_flags(zeros, both, none)
    episodes.check_flags(zeros, none, none)
