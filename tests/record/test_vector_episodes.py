from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.core.vector_env import AutoresetMode
from ludus.core.vector_wrapper import VectorWrapper
from ludus.errors import EpisodeOver, RecordError, ReplayImpossible
from ludus.record import Episode, episodes, read_run, replay, totals, verify
from ludus.record.episodes.record_episodes import RecordVectorEpisodes
from ludus.record.episodes.row_buffer import BitsColumn
from ludus.vector import SyncVectorEnv
from ludus.wrappers import ClipReward, RepeatAction, TimeLimit
from ludus.wrappers import vector as vector_wrappers

MODES = list(AutoresetMode)


def play(env: Any, rows: int, seed: Any = 0) -> None:
    """Step with sampled actions, and reset what has to be reset by hand."""
    env.action_space.seed(1)
    env.reset(seed=seed)
    by_hand = env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    while env.rows < rows:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        over = terminated | truncated
        if by_hand and over.any():
            env.reset(options={"reset_mask": over})


def make(env_id: str, backend: str, mode: AutoresetMode, n: int = 4) -> Any:
    if backend == "kernel":
        return ludus.make_vec(env_id, n, autoreset_mode=mode)
    kwargs = {"autoreset_mode": mode}
    return ludus.make_vec(env_id, n, vectorization_mode=backend, vector_kwargs=kwargs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["kernel", "sync"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Blackjack-v1"])
@pytest.mark.parametrize("observations", [False, True])
def test_what_was_recorded_comes_out_again(
    env_id: str, backend: str, mode: AutoresetMode, observations: bool, tmp_path: Path
) -> None:
    env = make(env_id, backend, mode)
    with RecordVectorEpisodes(
        env, tmp_path / "run", observations=observations, block_rows=17
    ) as recording:
        play(recording, 60)
    assert read_run(tmp_path / "run").rows == 60
    assert verify(tmp_path / "run").passed
    found = replay(tmp_path / "run")
    assert found.is_equal
    assert found.episodes == len(totals(read_run(tmp_path / "run")).returns) > 0


@pytest.mark.parametrize("mode", MODES)
def test_workers_too(mode: AutoresetMode, tmp_path: Path) -> None:
    with RecordVectorEpisodes(make("CartPole-v1", "async", mode, 2), tmp_path / "run") as env:
        play(env, 40)
    assert verify(tmp_path / "run").passed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["kernel", "sync"])
def test_episodes_are_those_of_single_environments(
    backend: str, mode: AutoresetMode, tmp_path: Path
) -> None:
    """The same lengths and returns, whoever resets and when."""
    env = make("CartPole-v1", backend, mode, 3)
    actions = {index: np.random.default_rng(index) for index in range(3)}
    over = np.zeros(3, np.bool_)
    with RecordVectorEpisodes(env, tmp_path / "run", block_rows=5) as recording:
        recording.reset(seed=11)
        for _ in range(150):
            idle = over & (mode is AutoresetMode.NEXT_STEP)
            chosen = [0 if idle[i] else int(actions[i].integers(2)) for i in range(3)]
            _, _, terminated, truncated, _ = recording.step(np.array(chosen))
            over = terminated | truncated
            if mode is AutoresetMode.DISABLED and over.any():
                recording.reset(options={"reset_mask": over})
    found = list(episodes(read_run(tmp_path / "run")))
    for index in range(3):
        single, draws = ludus.make("CartPole-v1"), np.random.default_rng(index)
        single.reset(seed=11 + index)
        mine = [episode for episode in found if episode.env_index == index]
        assert [episode.number for episode in mine] == list(range(len(mine)))
        assert mine[0].seed == 11 + index
        for episode in mine:
            for step in range(episode.length):
                _, _, terminated, truncated, _ = single.step(int(draws.integers(2)))
                assert (terminated or truncated) == (step == episode.length - 1)
            assert episode.total_reward == episode.length
            assert (episode.terminated, episode.truncated) == (terminated, truncated)
            single.reset()


def test_rows_of_next_step_autoreset(tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 2, max_episode_steps=3)
    with RecordVectorEpisodes(env, tmp_path / "run", block_rows=2) as recording:
        recording.reset(seed=[4, None])
        for _ in range(8):
            recording.step(np.zeros(2, np.int64))
    found = list(episodes(read_run(tmp_path / "run"), unfinished=True))
    assert found == [
        Episode(0, 0, 4, 0, 3, 3.0, False, True),
        Episode(1, 0, None, 0, 3, 3.0, False, True),
        Episode(0, 1, None, 4, 3, 3.0, False, True),
        Episode(1, 1, None, 4, 3, 3.0, False, True),
    ]


def test_lists_of_seeds_and_options(tmp_path: Path) -> None:
    with RecordVectorEpisodes(ludus.make_vec("CartPole-v1", 3), tmp_path / "run") as env:
        env.reset(seed=(5, 6, np.int64(7)), options={"low": -0.1, "high": 0.1})
        env.step(np.zeros(3, np.int64))
        with pytest.raises(RecordError, match="seed"):
            env.reset(seed="abc")
    reset = next(event for event in read_run(tmp_path / "run").events if event.kind == "reset")
    assert reset.data["seed"] == [5, 6, 7]
    assert replay(tmp_path / "run").is_equal


def test_stepping_what_is_over_is_refused_and_not_recorded(tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 2, max_episode_steps=2, autoreset_mode="Disabled")
    with RecordVectorEpisodes(env, tmp_path / "run") as recording:
        recording.reset(seed=0)
        actions = np.zeros(2, np.int64)
        recording.step(actions)
        recording.step(actions)
        with pytest.raises(EpisodeOver):
            recording.step(actions)
        recording.reset()
        recording.step(actions)
    assert read_run(tmp_path / "run").rows == 3
    assert verify(tmp_path / "run").passed


def test_buffers_that_are_overwritten_are_copied(tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 4, copy=False)
    with RecordVectorEpisodes(env, tmp_path / "run", observations=True) as recording:
        play(recording, 30)
    assert verify(tmp_path / "run").passed


def test_an_environment_that_writes_to_its_actions(tmp_path: Path) -> None:
    class Halving(VectorWrapper[Any, Any, Any, Any, Any]):
        def step(self, actions: Any) -> Any:
            actions *= 0.5
            return self.env.step(actions)

    def build() -> Any:
        return Halving(ludus.make_vec("Pendulum-v1", 2))

    with RecordVectorEpisodes(build(), tmp_path / "run") as recording:
        play(recording, 5)
    assert replay(tmp_path / "run", env_factory=build).is_equal


# --- what can be built again ----------------------------------------------------------------------


def test_wrappers_of_each_environment(tmp_path: Path) -> None:
    env = ludus.make_vec(
        "CartPole-v1",
        2,
        wrappers=[partial(RepeatAction, num_repeats=2), partial(TimeLimit, max_episode_steps=4)],
    )
    with RecordVectorEpisodes(env, tmp_path / "run") as recording:
        play(recording, 20)
    assert verify(tmp_path / "run").passed


def test_wrappers_around_all(tmp_path: Path) -> None:
    env = vector_wrappers.ClipReward(ludus.make_vec("Pendulum-v1", 2), -0.5, 0.0)
    env = vector_wrappers.RecordEpisodeStatistics(env)
    with RecordVectorEpisodes(env, tmp_path / "run") as recording:
        play(recording, 20)
    with pytest.raises(ReplayImpossible, match="wrapper ClipReward did not record its arguments"):
        replay(tmp_path / "run")


def test_wrappers_that_only_look_on_are_left_out(tmp_path: Path) -> None:
    env = vector_wrappers.RecordEpisodeStatistics(ludus.make_vec("CartPole-v1", 2))
    inner = RecordVectorEpisodes(env, tmp_path / "inner")
    with RecordVectorEpisodes(inner, tmp_path / "outer") as recording:
        play(recording, 20)
    assert verify(tmp_path / "inner").passed
    assert verify(tmp_path / "outer").passed


def test_a_wrapper_that_is_only_a_function_is_named(tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 2, wrappers=[lambda env: ClipReward(env, 0.0, 0.5)])
    with RecordVectorEpisodes(env, tmp_path / "run") as recording:
        play(recording, 5)
    with pytest.raises(ReplayImpossible, match="lambda.* did not record its arguments"):
        replay(tmp_path / "run")
    found = verify(tmp_path / "run")
    assert found.verdict == "unchecked"
    assert found["replay"].status == "skipped"


def test_without_a_spec(tmp_path: Path) -> None:
    def build() -> Any:
        return SyncVectorEnv([lambda: ludus.make("CartPole-v1")] * 2)

    with RecordVectorEpisodes(build(), tmp_path / "run") as recording:
        play(recording, 5)
    with pytest.raises(ReplayImpossible, match="has no spec"):
        replay(tmp_path / "run")
    assert replay(tmp_path / "run", env_factory=build).is_equal


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["kernel", "sync"])
def test_resuming(backend: str, mode: AutoresetMode, tmp_path: Path) -> None:
    def policy(row: int) -> Any:
        return np.random.default_rng(row).integers(0, 2, 4)

    def go_on(path: Path, until: int, outcome: str) -> None:
        env = make("CartPole-v1", backend, mode)
        recording = RecordVectorEpisodes(env, path, resume=True, observations=True, block_rows=6)
        resumed = recording.resumed
        over = np.zeros(4, np.bool_)
        if resumed is None or resumed.needs_reset:
            recording.reset(seed=3)
        elif resumed.terminated is not None:
            over = resumed.terminated | resumed.truncated
        while recording.rows < until:
            if mode is AutoresetMode.DISABLED and over.any():
                recording.reset(options={"reset_mask": over})
            _, _, terminated, truncated, _ = recording.step(policy(recording.rows))
            over = terminated | truncated
        recording._end(outcome)

    go_on(tmp_path / "whole", 60, "complete")
    for until in (1, 9, 9, 30, 47, 60):
        go_on(tmp_path / "parts", until, "complete" if until == 60 else "interrupted")
    assert verify(tmp_path / "parts").passed
    names = ("action", "reward", "terminated", "truncated", "observation_check", "observation")
    for name in names:
        whole, parts = (
            np.concatenate([np.asarray(b[name], float) for b in read_run(tmp_path / each).blocks()])
            for each in ("whole", "parts")
        )
        assert np.array_equal(whole, parts), name


def test_video_shows_the_first(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = ludus.make_vec("CartPole-v1", 2, render_mode="rgb_array", max_episode_steps=3)
    with RecordVectorEpisodes(env, tmp_path / "run", video=1) as recording:
        play(recording, 7)
    files = [e.data["path"] for e in read_run(tmp_path / "run").events if e.kind == "file"]
    assert files == ["video/episode-000000.mp4", "video/episode-000001.mp4"]
    assert verify(tmp_path / "run").passed


def test_options_are_copied(tmp_path: Path) -> None:
    """A mask that its owner goes on to use is recorded as it was."""
    env = ludus.make_vec("CartPole-v1", 2, max_episode_steps=2, autoreset_mode="Disabled")
    mask = np.zeros(2, np.bool_)
    with RecordVectorEpisodes(env, tmp_path / "run") as recording:
        recording.reset(seed=0)
        for _ in range(3):
            recording.step(np.zeros(2, np.int64))
            recording.step(np.ones(2, np.int64))
            mask[:] = True
            recording.reset(options={"reset_mask": mask})
            mask[:] = False
    assert verify(tmp_path / "run").passed


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Taxi-v3", "MountainCar-v0"])
def test_many_at_once(env_id: str, tmp_path: Path) -> None:
    """Numbers of many environments are kept as bits until one of them is none."""
    env = ludus.make_vec(env_id, 300)
    with RecordVectorEpisodes(env, tmp_path / "run", block_rows=40) as recording:
        recording.reset(seed=0)
        recording.action_space.seed(0)
        for row in range(100):
            actions = recording.action_space.sample()
            recording.step(actions if row % 50 > 20 else actions % 2)
    assert verify(tmp_path / "run").passed
    actions = [block["action"] for block in read_run(tmp_path / "run").blocks()]
    assert {column.dtype for column in actions} <= {np.dtype(np.bool_), np.dtype(np.uint8)}


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_bits_until_they_are_none(dtype: Any) -> None:
    column = BitsColumn(5, np.dtype(dtype), (4,))
    rows = [[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 7, 0], [1, 0, 0, -1], [0, 1, 0, 1]]
    for _ in range(2):
        for row, values in enumerate(rows):
            column.put(row, np.array(values, dtype))
            expected = np.array(rows[: row + 1], dtype)
            assert column.rows(row + 1).tobytes() == expected.tobytes()
            assert (column.stored(row + 1).dtype == np.bool_) == (row < 2)
            assert np.array_equal(column.stored(row + 1), expected)
        column.restart()


def test_negative_zero_is_no_bit() -> None:
    column = BitsColumn(1, np.dtype(np.float64), (2,))
    column.put(0, np.array([-0.0, 1.0]))
    assert np.signbit(column.rows(1)[0, 0])
