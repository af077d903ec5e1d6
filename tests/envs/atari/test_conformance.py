"""A sample of ids keeps the contract, alone and under the usual wrappers."""

from __future__ import annotations

import pytest

pytest.importorskip("ale_py")

import ludus
from ludus.testing import EnvConformance
from tests.envs.atari.sampling import FULL, IDS_TRIED
from tests.reference.twins import assert_same

CHECKS = [name for name in dir(EnvConformance) if name.startswith("test_")]


class Suite(EnvConformance):
    """The contract of one id, over as few steps as tell something."""

    steps = 50 if FULL else 6
    seeds = (1, 2, 3) if FULL else (1,)
    render_modes = ("rgb_array",)

    def __init__(self, env_id):
        self.env_id = env_id

    def make(self, **kwargs):
        return ludus.make(self.env_id, disable_env_checker=True, **kwargs).unwrapped


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("SDL_AUDIODRIVER", "dummy")


@pytest.mark.parametrize("env_id", IDS_TRIED if FULL else ("ALE/Pong-v5",))
@pytest.mark.parametrize("check", CHECKS)
def test_contract(env_id, check):
    getattr(Suite(env_id), check)()


def test_saved_under_preprocessing():
    pytest.importorskip("cv2")

    def make():
        env = ludus.make("BreakoutNoFrameskip-v0")
        env = ludus.wrappers.AtariPreprocessing(env, noop_max=3, terminal_on_life_loss=True)
        return ludus.wrappers.FrameStackObservation(env, 4)

    env, other = make(), make()
    env.reset(seed=2)
    for _ in range(9):
        env.step(1)
    state = env.get_state()
    other.set_state(state)
    for action in (0, 1, 2, 3) * 5:
        assert_same(other.step(action), env.step(action))
