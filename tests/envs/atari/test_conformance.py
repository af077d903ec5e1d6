"""Ids keep the contract: alone, in batches, and under the usual wrappers.

A quick run looks at few ids, one with ``LUDUS_TEST_ALL=1`` at all of them.
"""

from __future__ import annotations

import pytest

pytest.importorskip("ale_py")

import ludus
from ludus.core import AutoresetMode
from ludus.testing import EnvConformance, VectorEnvConformance
from tests.envs.atari.sampling import ALL_IDS, IDS_TRIED
from tests.reference.twins import assert_same
from tests.sampling import ALL

QUICK_IDS = ("ALE/Pong-v5",)
MODES = tuple(AutoresetMode)
EQUAL_SINGLE = ("test_spaces", "test_steps_equal_single")
"""What a batch owes to its id; the rest it owes to its class."""


def checks(suite):
    return [name for name in dir(suite) if name.startswith("test_")]


def batch_cases():
    if not ALL:
        return [("test_steps_equal_single", env_id) for env_id in QUICK_IDS]
    return [
        (check, env_id)
        for env_id in ALL_IDS
        for check in (checks(BatchSuite) if env_id in IDS_TRIED else EQUAL_SINGLE)
    ]


class Suite(EnvConformance):
    """The contract of one id, over as few steps as tell something."""

    render_modes = ("rgb_array",)

    def __init__(self, env_id):
        self.env_id = env_id
        long = ALL and env_id in IDS_TRIED
        self.steps, self.seeds = (50, (1, 2, 3)) if long else (6, (1,))

    def make(self, **kwargs):
        return ludus.make(self.env_id, disable_env_checker=True, **kwargs).unwrapped


class BatchSuite(VectorEnvConformance):
    """A batch of an id returns what single ones do; short episodes, so that some end."""

    num_envs = 2

    def __init__(self, env_id):
        self.env_id = env_id
        long = ALL and env_id in IDS_TRIED
        self.steps, self.limit = (60, 13) if long else (7, 3)
        self.autoreset_modes = MODES if long else (MODES[ALL_IDS.index(env_id) % len(MODES)],)

    def make(self, num_envs, autoreset_mode):
        return ludus.make_vec(
            self.env_id,
            num_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": autoreset_mode},
            max_episode_steps=self.limit,
        )

    def make_single(self):
        return ludus.make(self.env_id, disable_env_checker=True, max_episode_steps=self.limit)


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("SDL_AUDIODRIVER", "dummy")


@pytest.mark.parametrize("env_id", ALL_IDS if ALL else QUICK_IDS)
@pytest.mark.parametrize("check", checks(Suite))
def test_contract(env_id, check):
    getattr(Suite(env_id), check)()


@pytest.mark.parametrize(("check", "env_id"), batch_cases())
def test_batches(check, env_id):
    check_batch = getattr(BatchSuite(env_id), check)
    check_batch()


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
