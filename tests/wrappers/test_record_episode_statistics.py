from __future__ import annotations

import numpy as np
import pytest

from ludus.wrappers import RecordEpisodeStatistics
from tests.wrappers.script_env import ScriptEnv


def play(env: RecordEpisodeStatistics[object, object], episodes: int) -> list[dict[str, object]]:
    infos = []
    for _ in range(episodes):
        env.reset()
        done = False
        while not done:
            *_, done, _, info = env.step(0)
        infos.append(info)
    return infos


def test_last_step_reports_return_length_and_time() -> None:
    env = RecordEpisodeStatistics(ScriptEnv(rewards=[1, 2, 3, 4, 0.5]))
    env.reset()
    assert all("episode" not in env.step(0)[4] for _ in range(4))
    report = env.step(0)[4]["episode"]
    assert report["r"] == 10.5
    assert report["l"] == 5
    assert 0 <= report["t"] < 60


def test_queues_keep_the_latest_episodes() -> None:
    env = RecordEpisodeStatistics(ScriptEnv(), buffer_length=2, stats_key="stats")
    infos = play(env, 3)
    assert env.episode_count == 3
    assert list(env.return_queue) == [5.0, 5.0]
    assert list(env.length_queue) == [5, 5]
    assert list(env.time_queue) == [info["stats"]["t"] for info in infos[1:]]


def test_key_that_is_taken() -> None:
    env = RecordEpisodeStatistics(RecordEpisodeStatistics(ScriptEnv()))
    with pytest.raises(ValueError, match="stats_key"):
        play(env, 1)
    assert play(RecordEpisodeStatistics(env.env, stats_key="outer"), 1)[0].keys() >= {"outer"}


def test_time_under_way_survives_a_restore() -> None:
    env = RecordEpisodeStatistics(ScriptEnv())
    env.reset()
    env.episode_start_time -= 1000
    state = env.get_state()
    assert state["fields"]["elapsed"] == pytest.approx(1000, abs=5)
    fresh = RecordEpisodeStatistics(ScriptEnv())
    fresh.set_state(state)
    for _ in range(5):
        *_, info = fresh.step(0)
    assert np.isclose(info["episode"]["t"], 1000, atol=5)
