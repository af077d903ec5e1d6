from __future__ import annotations

from typing import Any

import numpy as np

from ludus.checking.rollout import compare, overwrite, play_actions, rollout
from ludus.testing.envs import CounterEnv, DictEnv
from tests.checking.broken_envs import Good


def test_episodes_follow_each_other() -> None:
    record = rollout(CounterEnv(goal=4, limit=3), seed=1, steps=20)
    resets = [i for i, moment in enumerate(record) if moment.action is None]
    assert resets[0] == 0
    assert len(resets) > 3
    assert len(record) == 20 + len(resets)
    for i in resets[1:]:
        assert record[i - 1].terminated or record[i - 1].truncated


def test_equal_seeds_give_equal_records() -> None:
    env = DictEnv()
    record = rollout(env, seed=1)
    assert compare(record, rollout(DictEnv(), seed=1)) is None
    difference = compare(record, rollout(env, seed=2))
    assert difference is not None
    assert "observation['position'] of call 0 differs" in difference
    assert (
        compare(record, record[:-1]) == f"one has {len(record)} calls, the other {len(record) - 1}"
    )


def test_actions_can_be_replayed_until_the_end() -> None:
    env = CounterEnv()
    record = rollout(env, seed=3, steps=60)
    actions = [moment.action for moment in record if moment.action is not None]
    env.reset(seed=3)
    replay = play_actions(env, actions)
    assert compare(record[1 : len(replay) + 1], replay) is None
    assert replay[-1].terminated or replay[-1].truncated


def test_environments_that_write_to_their_actions_do_no_harm() -> None:
    class Writes(Good):
        def step(self, action: Any) -> Any:
            result = super().step(action)
            action[:] = 99
            return result

    record = rollout(Writes(), seed=1)
    assert all(abs(moment.action).max() <= 1 for moment in record if moment.action is not None)


def test_overwrite_changes_every_writable_array() -> None:
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    data = {"a": np.zeros(2), "b": (np.array([True]), [np.array([255], np.uint8)]), "c": 3}
    overwrite({**data, "frozen": frozen, "text": np.array(["x"])})
    assert data["a"].tolist() == [1, 1]
    assert data["b"][0].tolist() == [False]
    assert data["b"][1][0].tolist() == [0]
    assert frozen.tolist() == [0, 0]
