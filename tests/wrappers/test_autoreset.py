from __future__ import annotations

from ludus.wrappers import Autoreset
from tests.wrappers.script_env import ScriptEnv


def test_resets_in_the_step_after_the_end() -> None:
    inner = ScriptEnv()
    env = Autoreset(inner)
    env.reset()
    results = [env.step(i) for i in range(7)]
    assert [result[2] for result in results] == [False] * 4 + [True, False, False]
    observation, reward, terminated, truncated, info = results[5]
    assert observation == 0
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {"options": None}
    assert inner.actions == [0, 1, 2, 3, 4, 6], "the resetting step takes no action"


def test_reset_by_hand_cancels_the_pending_one() -> None:
    env = Autoreset(ScriptEnv())
    env.reset()
    for _ in range(5):
        env.step(0)
    assert env.autoreset
    env.reset()
    assert not env.autoreset
    assert env.step(0)[0] == 1
