from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from tests.wrappers.vector.support import NOOP, Scripted, twins


def script(*steps: tuple[Any, Any]) -> list[Any]:
    return [(np.array(rewards, float), ends, {}) for rewards, ends in steps]


def test_next_step_leaves_the_resetting_step_out() -> None:
    envs = RecordEpisodeStatistics(
        Scripted(script(([1, 10], [0, 0]), ([2, 20], [1, 0]), ([4, 40], [0, 1]), ([8, 80], [1, 0])))
    )
    envs.reset()
    assert envs.step(NOOP)[4] == {}
    infos = envs.step(NOOP)[4]
    assert infos["episode"]["r"].tolist() == [3, 0]
    assert infos["episode"]["l"].tolist() == [2, 0]
    assert infos["episode"]["t"].shape == (2,)
    assert infos["_episode"].tolist() == [True, False]
    infos = envs.step(NOOP)[4]
    assert infos["episode"]["r"].tolist() == [0, 70]
    infos = envs.step(NOOP)[4]
    assert infos["episode"]["r"].tolist() == [8, 0]
    assert infos["episode"]["l"].tolist() == [1, 0]
    assert envs.episode_count == 3
    assert list(envs.return_queue) == [3, 70, 8]
    assert list(envs.length_queue) == [2, 3, 1]
    assert len(envs.time_queue) == 3


def test_same_step_counts_every_step() -> None:
    inner = Scripted(
        script(([1, 10], [1, 0]), ([2, 20], [1, 1])), autoreset_mode=AutoresetMode.SAME_STEP
    )
    envs = RecordEpisodeStatistics(inner, buffer_length=2)
    envs.reset()
    assert envs.step(NOOP)[4]["episode"]["r"].tolist() == [1, 0]
    assert envs.step(NOOP)[4]["episode"]["r"].tolist() == [2, 30]
    assert list(envs.return_queue) == [2, 30], "only the last two are kept"


def test_a_partial_reset_leaves_the_other_episodes_running() -> None:
    envs = RecordEpisodeStatistics(
        Scripted(
            script(([1, 10], [1, 0]), ([2, 20], [0, 1])), autoreset_mode=AutoresetMode.DISABLED
        )
    )
    envs.reset()
    first = envs.step(NOOP)[4]
    first["_episode"][1] = True
    options = {"reset_mask": np.array([True, False])}
    envs.reset(options=options)
    assert list(options) == ["reset_mask"]
    assert first["_episode"].tolist() == [True, True], "infos belong to the caller"
    infos = envs.step(NOOP)[4]
    assert infos["episode"]["r"].tolist() == [0, 30]
    assert infos["episode"]["l"].tolist() == [0, 2]


def test_seed_and_options_by_position() -> None:
    inner = Scripted()
    RecordEpisodeStatistics(inner).reset(7, {"a": 1})
    assert inner.reset_calls == [(7, {"a": 1})]


@pytest.mark.parametrize("taken", ["stats", "_stats"])
def test_a_taken_key(taken: str) -> None:
    envs = RecordEpisodeStatistics(Scripted([(np.zeros(2), [1, 0], {taken: 0})]), stats_key="stats")
    envs.reset()
    with pytest.raises(ValueError, match=r"'stats'.*already exists"):
        envs.step(NOOP)


def test_list_infos_are_refused() -> None:
    envs = RecordEpisodeStatistics(DictInfoToList(twins()))
    envs.reset(seed=0)
    with pytest.raises(AssertionError, match="outermost"):
        envs.step(np.zeros(3, np.int64))


def test_unknown_autoreset_modes() -> None:
    inner = Scripted()
    del inner.metadata["autoreset_mode"]
    with pytest.warns(UserWarning, match="missing `autoreset_mode`"):
        RecordEpisodeStatistics(inner)
    with pytest.raises(TypeError, match="AutoresetMode"):
        RecordEpisodeStatistics(Scripted(autoreset_mode="NextStep"))


def test_durations_survive_a_restored_state(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    envs, twin = RecordEpisodeStatistics(twins()), RecordEpisodeStatistics(twins())
    envs.reset(seed=0)
    now[0] += 5
    state = envs.get_state()
    now[0] = 3.0
    twin.set_state(state)
    assert (now[0] - twin.episode_start_times).tolist() == [5.0] * 3
