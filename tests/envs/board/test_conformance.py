"""Every board game keeps the contract, alone and in batches."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import ludus
from ludus.core import AutoresetMode
from ludus.envs.board import BoardEnv, BoardVectorEnv
from ludus.envs.board.registration import SPECS
from ludus.testing import EnvConformance, VectorEnvConformance
from tests.reference.twins import assert_same
from tests.sampling import sampled

IDS = [spec.id for spec in SPECS]


def checks_of(suite):
    return [name for name in dir(suite) if name.startswith("test_")]


def make(env_id, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # version 0 is out of date
        return ludus.make(env_id, disable_env_checker=True, **options)


def make_batch(env_id, number, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ludus.make_vec(env_id, number, **options)


SINGLE = [
    pytest.param(env_id, test, id=f"{env_id}-{test}")
    for env_id in IDS
    for test in checks_of(EnvConformance)
]


@pytest.mark.parametrize(("env_id", "test"), sampled(SINGLE, 50, by=lambda pair: pair.values[1]))
def test_single(env_id, test):
    class Suite(EnvConformance):
        steps = 15
        # Backgammon counts checkers that are beyond any bound worth to declare.
        suppress = (*EnvConformance.suppress, "infinite-bounds")
        render_modes = ("ansi", "rgb_array")

        def make(self, **kwargs):
            return make(env_id, **kwargs).unwrapped

    check = getattr(Suite(), test)
    check()


@pytest.mark.parametrize("test", checks_of(VectorEnvConformance))
@pytest.mark.parametrize("env_id", ["TicTacToe-v1", "Backgammon-v1", "Go9x9-v0", "Hex9x9-v1"])
def test_batch(env_id, test):
    class Suite(VectorEnvConformance):
        steps = 25

        def make(self, num_envs, autoreset_mode):
            return make_batch(env_id, num_envs, autoreset_mode=autoreset_mode)

        def make_single(self):
            return make(env_id)

    getattr(Suite(), test)()


@pytest.mark.parametrize("env_id", IDS)
def test_a_batch_plays_as_single_games(env_id):
    number = 3
    envs = make_batch(env_id, number, autoreset_mode=AutoresetMode.SAME_STEP)
    assert isinstance(envs.unwrapped, BoardVectorEnv)
    assert len({id(env.unwrapped.opponent) for env in envs.envs}) == 1
    singles = [make(env_id) for _ in range(number)]
    seen, infos = envs.reset(seed=5)
    first = [env.reset(seed=5 + i) for i, env in enumerate(singles)]
    assert_same(seen, np.stack([result[0] for result in first]))
    for _ in range(12):
        masks = infos["action_mask"]
        # Each plays its middle legal move.
        actions = np.array([np.flatnonzero(mask)[mask.sum() // 2] for mask in masks])
        seen, rewards, over, _, infos = envs.step(actions)
        for i, env in enumerate(singles):
            observation, reward, ended, _, info = env.step(actions[i])
            assert (rewards[i], over[i]) == (reward, ended)
            if ended:
                assert_same(infos["final_obs"][i], observation)
                observation, info = env.reset()
            assert_same(seen[i], observation)
            assert_same(infos["action_mask"][i], info["action_mask"])
            assert infos["to_play"][i] == info["to_play"]


@pytest.mark.parametrize("env_id", IDS)
def test_saved_batches_play_on(env_id):
    envs, others = make_batch(env_id, 2), make_batch(env_id, 2)
    envs.reset(seed=1)
    others.reset(seed=9)
    events = []
    infos = envs.step([0, 1])[4]
    state = envs.get_state()
    for _ in range(4):
        actions = np.array([np.flatnonzero(m)[-1] if m.any() else 0 for m in infos["action_mask"]])
        events.append((actions, envs.step(actions)))
        infos = events[-1][1][4]
    others.set_state(state)
    for actions, expected in events:
        assert_same(others.step(actions), expected)


def test_options_reach_every_game_of_a_batch():
    envs = make_batch(
        "Go9x9-v1", 2, board_size=5, player_color="white", opponent=lambda board: 7, resign=False
    )
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (2, 4, 5, 5)
    assert (observations[:, 0, 1, 2] == 1).all()
    assert envs.single_action_space.n == 26
    with pytest.raises(ValueError, match="num_envs"):
        BoardVectorEnv("go", 0)
    with pytest.raises(TypeError, match="strength"):
        make_batch("Go9x9-v1", 2, strength=3)


def test_batches_draw():
    envs = make_batch("TicTacToe-v1", 2, render_mode="rgb_array")
    envs.reset(seed=1)
    assert [frame.shape for frame in envs.render()] == [(240, 240, 3)] * 2


def test_batches_in_processes():
    envs = make_batch("Hex9x9-v1", 2, vectorization_mode="async")
    single = make("Hex9x9-v1")
    seen, _ = envs.reset(seed=3)
    assert_same(seen[0], single.reset(seed=3)[0])
    assert_same(envs.step([4, 5])[0][0], single.step(4)[0])
    envs.close()


@pytest.mark.parametrize("env_id", ["Go9x9-v1", "Go9x9-v0", "Chess-v1"])
def test_copies_go_their_own_way(env_id):
    env = make(env_id).unwrapped
    env.reset(seed=1)
    env.step(env.position.legal()[0])
    twin = copy.deepcopy(env)
    action = env.position.legal()[3]
    assert_same(twin.step(action), env.step(action))
    twin.step(twin.position.legal()[0])
    assert len(twin.position.history) == len(env.position.history) + 2


def test_masks_sample_legal_moves_only():
    env = BoardEnv("othello", illegal_move_mode="raise")
    for seed in range(3):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        over = False
        while not over:
            action = env.action_space.sample(info["action_mask"])
            assert action in env.position.legal()
            _, _, over, _, info = env.step(action)
