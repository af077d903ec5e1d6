"""Batches of the generalized Kelly coinflip: games with spaces of their own, stepped together."""

from __future__ import annotations

import numpy as np
import pytest

import ludus
from ludus.envs.toy_text.kelly_coinflip_generalized import MOST_ACTIONS, MOST_MONEY
from ludus.errors import InvalidAction
from tests.envs.toy_text.support import make

ENV = "KellyCoinflipGeneralized-v0"
COUNT = 3


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("mode", [None, "sync", "async"])
def test_a_batch_plays_what_single_games_play(mode, clip):
    singles = [make(ENV, clip_distributions=clip) for _ in range(COUNT)]
    with ludus.make_vec(ENV, COUNT, mode, clip_distributions=clip) as batch:
        together, infos = batch.reset(seed=5)
        apart = [(*env.reset(seed=5 + i), False) for i, env in enumerate(singles)]
        rng = np.random.default_rng(0)
        ends = 0
        for _ in range(120):
            assert batch.observation_space.contains(together)
            assert infos == {}
            for i, (observation, *_) in enumerate(apart):
                assert tuple(part[i] for part in together) == observation
            # Bets of all a game has end many games, each beginning another with other spaces.
            bets = rng.choice([0, 10, 500, 19_999], COUNT)
            together, rewards, ended, cut, infos = batch.step(bets)
            for i, env in enumerate(singles):
                if apart[i][-1]:
                    apart[i] = (*env.reset(), False)
                    expected = (0.0, False)
                else:
                    observation, reward, over, _, _ = env.step(int(bets[i]))
                    apart[i] = (observation, over)
                    expected = (reward, over)
                assert (rewards[i], ended[i]) == expected
            assert not cut.any()
            ends += ended.sum()
        assert ends > 5


def test_a_batch_with_arguments_of_its_own():
    batch = ludus.make_vec(ENV, 2, vector_kwargs={"autoreset_mode": "SameStep"})
    batch.reset(seed=0)
    while True:
        _, _, ended, _, infos = batch.step(np.array([19_999, 19_999]))
        if ended.any():
            assert "final_obs" in infos
            return


def test_spaces_before_the_first_reset_hold_every_game():
    first, second = make(ENV), make(ENV)
    assert first.action_space == second.action_space
    assert first.action_space.n == MOST_ACTIONS
    assert first.observation_space == second.observation_space
    money, rounds = first.observation_space[0], first.observation_space[1]
    assert money.high == np.float32(MOST_MONEY)
    assert rounds.n == 300 + 14 * 25 + 1
    wide = first.observation_space
    for seed in range(200):
        observation, _ = first.reset(seed=seed)
        assert observation in first.observation_space
        assert observation in wide
        assert first.observation_space[0].high <= money.high
        assert first.observation_space[1].n <= rounds.n


def test_caps_with_a_light_tail_have_small_spaces():
    env = make(ENV, max_wealth_alpha=0.1)
    most = env.action_space.n
    assert most < 100 * 600
    for seed in range(200):
        env.reset(seed=seed)
        assert env.action_space.n <= most


def test_sampled_bets_are_taken():
    with ludus.make_vec(ENV, COUNT) as batch:
        batch.reset(seed=0)
        batch.action_space.seed(0)
        for _ in range(20):
            observation, rewards, ended, *_ = batch.step(batch.action_space.sample())
            assert batch.observation_space.contains(observation)
            assert (rewards[~ended] == 0).all()


def test_a_bet_beyond_the_cap_is_all_the_money():
    def play(bet):
        env = make(ENV)
        env.reset(seed=1)
        return [env.step(bet)[0] for _ in range(2)], env.unwrapped.max_wealth

    most, cap = play(2500)
    assert play(int(cap) * 100 + 7)[0][0] == most[0]
    env = make(ENV)
    env.reset(seed=1)
    for bad in (-1, MOST_ACTIONS, 1.5, "all"):
        with pytest.raises(InvalidAction, match="expected a bet"):
            env.step(bad)
    clipped = make(ENV, clip_distributions=True)
    clipped.reset(seed=1)
    with pytest.raises(InvalidAction, match="expected a bet"):
        clipped.step(283_400)


def test_saved_before_and_after_the_first_reset():
    env, other = make(ENV), make(ENV)
    wide = env.action_space
    unstarted = env.get_state()
    env.reset(seed=3)
    started = env.get_state()
    other.set_state(started)
    assert other.action_space == env.action_space != wide
    other.set_state(unstarted)
    assert other.action_space == wide


@pytest.mark.parametrize("clip", [False, True])
def test_parameters_at_the_edge_end_and_fit(clip):
    for kwargs in (
        {"max_rounds_mean": 0.3, "max_rounds_sd": 0.0},
        {"max_wealth_m": 0.01, "max_wealth_alpha": 0.1, "initial_wealth": 0.5},
        {"max_wealth_alpha": 1e6},
    ):
        env = make(ENV, clip_distributions=clip, **kwargs)
        for seed in range(30):
            observation, _ = env.reset(seed=seed)
            assert observation in env.observation_space
            assert np.isfinite(env.unwrapped.max_wealth)
