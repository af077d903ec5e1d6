from __future__ import annotations

import pytest

from ludus.errors import ResetNeeded
from ludus.wrappers import OrderEnforcing
from tests.wrappers.script_env import ScriptEnv


def test_step_and_render_need_a_reset() -> None:
    env = OrderEnforcing(ScriptEnv(render_mode="ansi"))
    with pytest.raises(ResetNeeded, match=r"env\.step\(\) yet"):
        env.step(0)
    with pytest.raises(ResetNeeded, match="disable_render_order_enforcing"):
        env.render()
    assert not env.has_reset
    env.reset()
    assert env.has_reset
    assert env.step(0)[0] == 1
    assert env.render() == "<1>"


def test_rendering_may_come_first_if_allowed() -> None:
    env = OrderEnforcing(ScriptEnv(render_mode="ansi"), disable_render_order_enforcing=True)
    assert env.render() == "<0>"
    with pytest.raises(ResetNeeded):
        env.step(0)
