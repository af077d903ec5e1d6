"""Wrappers around compiled batches: native code gives what NumPy and Gymnasium give."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics


class Foreign(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """A batch of Ludus as Gymnasium's wrappers take it."""

    def __init__(self, envs: Any) -> None:
        self.envs, self.num_envs = envs, envs.num_envs
        mode = gymnasium.vector.AutoresetMode[envs.metadata["autoreset_mode"].name]
        self.metadata = {"autoreset_mode": mode}
        shape = envs.single_observation_space.shape
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.observation_space = gymnasium.vector.utils.batch_space(
            self.single_observation_space, self.num_envs
        )

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.envs.reset(seed=seed, options=options)

    def step(self, actions: Any) -> Any:
        return self.envs.step(actions)


def batch(env_id: str = "CartPole-v1", n: int = 21, **options: Any) -> Any:
    envs = ludus.make_vec(env_id, n, **options)
    envs.action_space.seed(3)
    return envs


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_statistics_are_gymnasiums(env_id: str, mode: str) -> None:
    options = {"autoreset_mode": mode, "max_episode_steps": 13}
    ours = RecordEpisodeStatistics(batch(env_id, **options), buffer_length=50)
    theirs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        Foreign(batch(env_id, **options)), buffer_length=50
    )
    assert ours._counter is not None
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for _ in range(60):
        actions = ours.action_space.sample()
        mine, other = ours.step(actions)[4], theirs.step(actions)[4]
        assert ("episode" in mine) == ("episode" in other)
        if "episode" in mine:
            assert list(mine["episode"]) == list(other["episode"])
            np.testing.assert_array_equal(mine["_episode"], other["_episode"])
            for name in ("r", "l"):
                np.testing.assert_array_equal(mine["episode"][name], other["episode"][name])
                assert mine["episode"][name].dtype == other["episode"][name].dtype
            assert np.all((mine["episode"]["t"] > 0) == mine["_episode"])
            assert mine["episode"]["t"].dtype == np.float64
        np.testing.assert_array_equal(ours.episode_returns, theirs.episode_returns)
        np.testing.assert_array_equal(ours.episode_lengths, theirs.episode_lengths)
    assert ours.episode_count == theirs.episode_count > 50
    assert list(ours.return_queue) == list(theirs.return_queue)
    assert list(ours.length_queue) == list(theirs.length_queue)
    assert [type(x) for x in ours.length_queue] == [type(x) for x in theirs.length_queue]
    assert [type(x) for x in ours.time_queue] == [type(x) for x in theirs.time_queue]


def test_statistics_are_numpys_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    native, plain = (
        RecordEpisodeStatistics(batch("Pendulum-v1", max_episode_steps=7)) for _ in "ab"
    )
    plain._counter = None
    native.reset(seed=2)
    plain.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(40):
        clock[0] += rng.random() * 3
        actions = native.action_space.sample()
        mine, other = native.step(actions)[4], plain.step(actions)[4]
        assert ("episode" in mine) == ("episode" in other)
        for name in mine.get("episode", {}):
            np.testing.assert_array_equal(mine["episode"][name], other["episode"][name])
        if "episode" in mine:
            rounded = np.round(mine["episode"]["t"], 6)
            np.testing.assert_array_equal(mine["episode"]["t"], rounded)
    for name in ("time_queue", "return_queue", "length_queue"):
        assert list(getattr(native, name)) == list(getattr(plain, name)) != []


def test_reported_statistics_do_not_change() -> None:
    envs = RecordEpisodeStatistics(batch(max_episode_steps=4))
    envs.reset(seed=0)
    given = []
    for _ in range(30):
        infos = envs.step(envs.action_space.sample())[4]
        if "episode" in infos:
            report = infos["episode"]
            given.append((report, {name: values.copy() for name, values in report.items()}))
    assert len(given) > 5
    for report, copies in given:
        for name, copy in copies.items():
            np.testing.assert_array_equal(report[name], copy)


def test_a_changed_report_does_not_reach_the_queues() -> None:
    envs = RecordEpisodeStatistics(batch(max_episode_steps=1))
    envs.reset(seed=0)
    infos = envs.step(envs.action_space.sample())[4]
    infos["episode"]["r"][:] = 99.0
    assert set(envs.return_queue) == {1.0}


def test_a_queue_that_was_taken_is_filled_further() -> None:
    envs = RecordEpisodeStatistics(batch(n=2, max_episode_steps=1), buffer_length=3)
    envs.reset(seed=0)
    queue = envs.return_queue
    assert list(queue) == []
    envs.step(envs.action_space.sample())
    assert list(queue) == [1.0, 1.0]
    envs.return_queue = own = deque(maxlen=100)
    for _ in range(4):
        envs.step(envs.action_space.sample())
    assert list(own) == [1.0] * 4
    assert len(envs.length_queue) == 3


def test_queues_keep_the_last_episodes() -> None:
    envs, eager = (
        RecordEpisodeStatistics(batch("Pendulum-v1", n=5, max_episode_steps=2), buffer_length=8)
        for _ in "ab"
    )
    assert list(eager.return_queue) == []
    envs.reset(seed=0)
    eager.reset(seed=0)
    for _ in range(20):
        actions = envs.action_space.sample()
        envs.step(actions)
        eager.step(actions)
    assert len(envs.return_queue) == 8
    assert list(envs.return_queue) == list(eager.return_queue)
    assert list(envs.length_queue) == list(eager.length_queue)


@pytest.mark.parametrize("n", [1, 8, 21])
def test_sums_of_another_kind_are_counted_in_numpy(n: int) -> None:
    envs, twin = (RecordEpisodeStatistics(batch(n=n, max_episode_steps=6)) for _ in "ab")
    envs.reset(seed=0)
    twin.reset(seed=0)
    envs.episode_returns = envs.episode_returns.astype(np.float32)
    envs.episode_lengths = np.repeat(envs.episode_lengths, 2)[::2]
    for _ in range(20):
        actions = envs.action_space.sample()
        mine, other = envs.step(actions)[4], twin.step(actions)[4]
        assert ("episode" in mine) == ("episode" in other)
        if "episode" in mine:
            np.testing.assert_array_equal(mine["episode"]["r"], other["episode"]["r"])
            np.testing.assert_array_equal(mine["episode"]["l"], other["episode"]["l"])


def test_statistics_go_on_from_a_state() -> None:
    envs, twin = (RecordEpisodeStatistics(batch(max_episode_steps=9)) for _ in "ab")
    envs.reset(seed=0)
    for _ in range(12):
        envs.step(envs.action_space.sample())
    twin.reset(seed=5)
    twin.set_state(envs.get_state())
    assert list(twin.return_queue) == list(envs.return_queue)
    for _ in range(12):
        actions = envs.action_space.sample()
        mine, other = envs.step(actions)[4], twin.step(actions)[4]
        assert ("episode" in mine) == ("episode" in other)
        if "episode" in mine:
            np.testing.assert_array_equal(mine["episode"]["r"], other["episode"]["r"])


@pytest.mark.parametrize("n", [1, 7, 8, 100])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1"])
def test_normalised_observations_are_gymnasiums(env_id: str, n: int) -> None:
    ours = NormalizeObservation(batch(env_id, n))
    theirs = gymnasium.wrappers.vector.NormalizeObservation(Foreign(batch(env_id, n)))
    assert ours._native is not None
    found, expected = ours.reset(seed=1)[0], theirs.reset(seed=1)[0]
    # The first few are divided by a variance near zero.
    for turn in range(40):
        if turn == 30:
            ours.update_running_mean = theirs.update_running_mean = False
        actions = ours.action_space.sample()
        found, expected = ours.step(actions)[0], theirs.step(actions)[0]
        assert found.dtype == expected.dtype == np.float32
        assert found.flags.c_contiguous
        if turn > 5:
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(ours.obs_rms.mean, theirs.obs_rms.mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.obs_rms.var, theirs.obs_rms.var, rtol=1e-3, atol=1e-9)
    assert ours.obs_rms.mean.dtype == ours.obs_rms.var.dtype == np.float32
    assert ours.obs_rms.count == pytest.approx(theirs.obs_rms.count)


def test_statistics_that_were_read_do_not_change() -> None:
    envs = NormalizeObservation(batch())
    envs.reset(seed=0)
    mean, var = envs.obs_rms.mean, envs.obs_rms.var
    copies = mean.copy(), var.copy()
    envs.step(envs.action_space.sample())
    np.testing.assert_array_equal(mean, copies[0])
    np.testing.assert_array_equal(var, copies[1])
    assert not np.array_equal(envs.obs_rms.mean, mean)


@pytest.mark.parametrize(
    "change",
    [
        lambda seen: seen.astype(np.float64),
        lambda seen: np.asfortranarray(seen),
        lambda seen: np.repeat(seen, 2, axis=0)[::2],
        np.ma.masked_array,
    ],
)
def test_other_arrays_are_normalised_in_numpy(change: Any) -> None:
    envs, twin = NormalizeObservation(batch()), NormalizeObservation(batch())
    seen, _ = batch().reset(seed=0)
    np.testing.assert_allclose(
        np.asarray(envs.observations(change(seen))), twin.observations(seen), rtol=1e-3, atol=1e-3
    )


def test_huge_offsets_lose_no_spread() -> None:
    envs = NormalizeObservation(batch(n=64))
    seen = np.full((64, 4), 1e7, np.float32)
    seen[::2] += 4
    envs.observations(seen)
    np.testing.assert_allclose(envs.obs_rms.mean, 1e7 + 2, rtol=1e-5)
    for _ in range(200):
        envs.observations(seen)
    spread = np.var(seen.astype(np.float64), axis=0)
    assert np.all(envs.obs_rms.var >= spread * 0.99)


def test_wrappers_around_batches_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUDUS_JIT", "0")
    envs = NormalizeObservation(RecordEpisodeStatistics(batch(n=3, max_episode_steps=3)))
    assert envs._native is None
    envs.reset(seed=0)
    for _ in range(3):
        infos = envs.step(envs.action_space.sample())[4]
    assert infos["episode"]["l"].tolist() == [3, 3, 3]


def test_modes_are_told_apart() -> None:
    envs = batch(autoreset_mode="Disabled", max_episode_steps=2)
    counted = RecordEpisodeStatistics(envs)
    assert counted._autoreset_mode is AutoresetMode.DISABLED
    counted.reset(seed=0)
    for _ in range(2):
        infos = counted.step(envs.action_space.sample())[4]
    assert infos["episode"]["l"].tolist() == [2] * 21
    counted.reset(options={"reset_mask": np.ones(21, np.bool_)})
    assert counted.episode_lengths.tolist() == [0] * 21
