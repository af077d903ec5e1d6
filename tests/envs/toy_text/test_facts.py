"""What is known of the games: optima, expectations, start states, quirks of old versions."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.envs.toy_text import guessing, kelly_coinflip, nchain, roulette
from ludus.envs.toy_text.kelly_coinflip_generalized import pareto_quantile
from ludus.errors import InvalidAction, ResetNeeded
from tests.envs.toy_text.support import BY_ID, Script, make, optimum


@pytest.mark.parametrize(
    ("env_id", "steps", "threshold"),
    [
        ("FrozenLake-v0", 100, 0.78),
        ("FrozenLake-v1", 100, 0.70),
        ("FrozenLake8x8-v0", 200, 0.99),
        ("FrozenLake8x8-v1", 200, 0.85),
        ("CliffWalking-v0", None, None),
        ("CliffWalking-v1", None, None),
        ("CliffWalkingSlippery-v1", None, None),
        ("Taxi-v1", 200, 9.7),
        ("Taxi-v2", 200, 8),
        ("Taxi-v3", 200, 8),
        ("Taxi-v4", 200, 8),
        ("Blackjack-v0", None, None),
        ("Blackjack-v1", None, None),
        ("NChain-v0", 1000, None),
        ("Roulette-v0", 100, None),
        ("GuessingGame-v0", 200, None),
        ("HotterColder-v0", 200, None),
        ("KellyCoinflip-v0", None, 246.61),
        ("KellyCoinflipGeneralized-v0", None, None),
    ],
)
def test_registered_values(env_id, steps, threshold):
    spec = BY_ID[env_id]
    assert (spec.max_episode_steps, spec.reward_threshold) == (steps, threshold)
    assert spec.family == "toy_text"
    assert spec.security.trust == "builtin"
    assert spec.description
    assert spec.deterministic
    assert (spec.vector_entry_point is None) == (env_id == "KellyCoinflipGeneralized-v0")


@pytest.mark.parametrize(
    ("env_id", "horizon", "value"),
    [
        ("FrozenLake-v0", 100, 0.7442),
        ("FrozenLake-v0", None, 0.8235),
        ("FrozenLake8x8-v0", 200, 0.9132),
        ("FrozenLake8x8-v0", None, 1.0),
        ("CliffWalking-v0", None, -13.0),
        ("Taxi-v1", 200, 10.203),
        ("Taxi-v2", 200, 8.463),
        ("Taxi-v3", 200, 7.930),
    ],
)
def test_optima(env_id, horizon, value):
    assert optimum(make(env_id), horizon) == pytest.approx(value, abs=6e-4)


def test_taxi_start_states():
    for env_id, shared in (("Taxi-v1", {0, 1, 2}), ("Taxi-v2", set()), ("Taxi-v4", set())):
        env = make(env_id).unwrapped
        starts = np.flatnonzero(env.initial_state_distrib)
        assert len(starts) == 300
        people = [env.decode(int(s))[2:] for s in starts]
        assert {p for p, d in people if p == d} == shared
        assert all(p < 4 for p, _ in people)


def test_taxi_delivery_in_old_and_new_versions():
    for env_id, passenger in (("Taxi-v1", 4), ("Taxi-v2", 0), ("Taxi-v3", 0)):
        env = make(env_id).unwrapped
        env.reset(seed=0)
        env.s = env.encode(0, 0, 4, 0)
        observation, reward, terminated, _, _ = env.step(5)
        assert (reward, terminated) == (20.0, True)
        assert env.decode(observation) == (0, 0, passenger, 0)


def test_taxi_walls_by_version():
    east = {}
    for env_id in ("Taxi-v2", "Taxi-v3"):
        env = make(env_id).unwrapped
        env.reset(seed=0)
        env.s = env.encode(1, 1, 0, 1)
        east[env_id] = env.decode(env.step(2)[0])[1]
    assert east == {"Taxi-v2": 2, "Taxi-v3": 1}


def test_nchain_forward_pays_3_6768_in_the_long_run():
    params = make("NChain-v0").unwrapped.params
    chain, pay = np.zeros((5, 5)), np.zeros(5)
    for link in range(5):
        for draw, chance in ((0.1999, 0.2), (0.2, 0.8)):
            state = nchain.transition(params, nchain.State(link, 0.0), 0, Script(draw))
            chain[link, state.link] += chance
            pay[link] += chance * state.reward
    stationary = np.linalg.matrix_power(chain, 1000)[0]
    assert stationary @ pay == pytest.approx(3.6768, abs=5e-5)


def test_roulette_expectations():
    params = make("Roulette-v0").unwrapped.params
    means = []
    for bet in range(37):
        pays = [
            roulette.transition(params, roulette.State(0.0, False), bet, Script(pocket)).reward
            for pocket in range(37)
        ]
        means.append(sum(pays) / 37)
        assert max(pays) == (36.0 if bet == 0 else 1.0)
    assert means[0] == 0.0
    np.testing.assert_allclose(means[1:], -1 / 37)
    env = make("Roulette-v0")
    env.reset(seed=0)
    assert env.step(37) == (0, 0.0, True, False, {})


def test_guessing_game():
    env = make("GuessingGame-v0")
    observation, info = env.reset(seed=5)
    number = info["number"]
    assert observation == 0
    assert info["guesses"] == 0
    assert -1000 <= number < 1000
    assert env.step(np.array([number - 10.5], np.float32))[:3] == (1, 0.0, False)
    assert env.step([number + 10.5])[:3] == (3, 0.0, False)
    observation, reward, terminated, _, info = env.step(number + 9.5)
    assert (observation, reward, terminated) == (3, 1.0, True)
    assert info == {"number": number, "guesses": 3}


def test_guesses_are_compared_as_float32():
    """NumPy compares a float32 array with a float in single precision: so did classic Gym."""
    params = guessing.Params(10_000.0)
    rng = np.random.default_rng(0)
    hints = set()
    for number in rng.uniform(-1000, 1000, 300).tolist():
        state = guessing.State(number, 0, 0, False)
        for offset in (0.0, -10.0, 10.0, 300.0):
            for guess in np.nextafter(
                np.float32(number + offset), np.array([-3e4, number + offset, 3e4], np.float32)
            ):
                array = np.array([guess])
                hint = 1 if array < number else 2 if array == number else 3
                near = bool(number - 10.0 < array < number + 10.0)
                after = guessing.transition(params, state, (float(guess),), None)
                assert (after.hint, after.near) == (hint, near)
                hints.add(hint)
    assert hints == {1, 2, 3}


@pytest.mark.parametrize("env_id", ["GuessingGame-v0", "HotterColder-v0"])
def test_many_guesses_at_once_are_judged_like_single_ones(env_id):
    envs = [make(env_id).unwrapped for _ in range(3)]
    venv = envs[0].vector(num_envs=3)
    with pytest.raises(ResetNeeded):
        venv.step(np.zeros((3, 1)))
    venv.reset(seed=1)
    for i, env in enumerate(envs):
        env.reset(seed=1 + i)
    for guesses in ([[0.1], [-900.7], [1000.3]], [[3.3], [1999.9], [-1.7]]):
        together = venv.step(np.array(guesses))
        apart = [env.step(guess) for env, guess in zip(envs, guesses, strict=True)]
        for k in range(3):
            assert together[k].tolist() == [result[k] for result in apart]
    bound = float(venv.single_action_space.high[0])
    for bad in (bound * 1.001, -bound * 1.001, np.nan, np.inf):
        with pytest.raises(InvalidAction, match="environment 1 is .* invalid"):
            venv.step(np.array([[0.0], [bad], [0.0]], np.float32))
        with pytest.raises(InvalidAction, match="environment 2 is .* invalid"):
            venv.step(np.array([0.0, 0.0, bad]))
        with pytest.raises(InvalidAction, match="environment 0 is .* invalid"):
            venv.rollout([[[bad], [0.0], [0.0]]])
    with pytest.raises(InvalidAction, match="expected numbers"):
        venv.step(["left", "right", "up"])
    with pytest.raises(ValueError, match="Expected 3 actions"):
        venv.step(np.zeros((2, 1), np.float32))
    venv.step(np.zeros((3, 1)))


def test_guessing_ends_at_the_two_hundredth_guess():
    for env_id in ("GuessingGame-v0", "HotterColder-v0"):
        env = make(env_id).unwrapped
        env.reset(seed=0)
        ends = [env.step(np.array([2000.0], np.float32))[2] for _ in range(200)]
        assert ends == [False] * 199 + [True]


def test_hotter_colder_pays_the_squared_ratio_in_single_precision():
    env = make("HotterColder-v0")
    _, info = env.reset(seed=1)
    number = info["number"]
    rng = np.random.default_rng(1)
    for guess in [-2000.0, -500.25, 0.5, 1999.0, number, *rng.uniform(-2000, 2000, 150)]:
        array = np.array([guess], np.float32)
        expected = ((min(array, number) + 2000) / (max(array, number) + 2000)) ** 2
        reward = env.step(array)[1]
        assert reward == expected[0]
        assert 0 <= reward <= 1


def test_kelly_coinflip():
    params = kelly_coinflip.Params(25.0, 0.6, 250.0, 300)
    play = kelly_coinflip.transition
    start = kelly_coinflip.initial(params, None)
    assert start == (25.0, 300)
    assert play(params, start, 500, Script(0.59)) == (30.0, 299)
    assert play(params, start, 500, Script(0.6)) == (20.0, 299)
    broke = play(params, start, 24999, Script(0.9))
    assert broke == (0.0, 299)
    assert kelly_coinflip.terminal(params, broke)
    rich = play(params, kelly_coinflip.State(200.0, 7), 24999, Script(0.1))
    assert rich == (250.0, 6)
    assert kelly_coinflip.reward(params, start, 0, rich) == 250.0
    last = play(params, kelly_coinflip.State(40.0, 1), 0, Script(0.1))
    assert kelly_coinflip.terminal(params, last)
    assert kelly_coinflip.reward(params, start, 0, last) == 40.0
    assert kelly_coinflip.reward(params, start, 0, start) == 0.0


def test_kelly_coinflip_observations():
    env = make("KellyCoinflip-v0")
    assert repr(env.action_space) == "Discrete(25000)"
    (wealth, rounds), info = env.reset(seed=0)
    assert wealth.dtype == np.float32
    assert wealth.tolist() == [25.0]
    assert (rounds, info) == (300, {})
    assert env.step(100)[0] in env.observation_space
    assert env.unwrapped.rounds == 299
    assert env.unwrapped.wealth in (24.0, 26.0)


def test_generalized_kelly_draws_a_new_game_at_each_reset():
    env = make("KellyCoinflipGeneralized-v0")
    first, info = env.reset(seed=7)
    spaces = repr(env.action_space), repr(env.observation_space)
    assert info == {}
    assert first in env.observation_space
    env.reset()
    assert (repr(env.action_space), repr(env.observation_space)) != spaces
    env.reset(seed=7)
    assert (repr(env.action_space), repr(env.observation_space)) == spaces
    assert min(env.unwrapped.max_wealth, 200) == 200


def test_generalized_kelly_counts_every_round_as_won():
    env = make("KellyCoinflipGeneralized-v0").unwrapped
    env.reset(seed=3)
    changes = set()
    before = env.wealth
    for k in range(1, 21):
        observation, reward, over, _, _ = env.step(1)
        changes.add(round(env.wealth - before, 2))
        before = env.wealth
        assert observation[1:4] == (k, k, 0)
        assert (reward, over) == (0.0, False)
    assert changes == {0.01, -0.01}


def test_generalized_kelly_can_be_clipped():
    assert round(pareto_quantile(0.85, 5.0, 200.0)) == 2834
    env = make("KellyCoinflipGeneralized-v0", clip_distributions=True).unwrapped
    env.reset(seed=0)
    games = []
    for _ in range(300):
        env.reset()
        games.append((env.max_wealth, env.max_rounds))
    wealth, rounds = np.array(games).T
    assert 200 <= wealth.min() < wealth.max() <= 2834
    assert rounds.max() <= 358


def test_generalized_kelly_keeps_its_spaces_when_clipped():
    env = make("KellyCoinflipGeneralized-v0", clip_distributions=True).unwrapped
    actions = env.action_space
    assert repr(actions) == "Discrete(283400)"
    assert [space.n for space in env.observation_space.spaces[1:4]] == [359] * 3
    assert env.observation_space.spaces[0].high == env.observation_space.spaces[4].high == 2834
    for seed in range(20):
        env.reset(seed=seed)
        assert env.action_space is actions
        assert env.reward_range == (0.0, env.max_wealth)
    other = make("KellyCoinflipGeneralized-v0", clip_distributions=True).unwrapped
    other.set_state(env.get_state())
    assert other.action_space == actions


def test_generalized_kelly_draws_edge_cap_and_rounds():
    genpareto = pytest.importorskip("scipy.stats").genpareto
    env = make("KellyCoinflipGeneralized-v0").unwrapped
    for seed in range(200):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        assert env.edge == rng.beta(7, 3)
        assert env.max_wealth == round(genpareto.ppf(rng.uniform(), 5.0, 200.0))
        assert env.max_rounds == round(rng.normal(300.0, 25.0))


def test_generalized_kelly_survives_an_astronomic_cap():
    env = make("KellyCoinflipGeneralized-v0", max_wealth_alpha=60.0).unwrapped
    caps = []
    for seed in range(40):
        observation, _ = env.reset(seed=seed)
        assert observation in env.observation_space
        caps.append(env.max_wealth)
    assert max(caps) > 3.5e38


def test_generalized_kelly_saves_its_spaces():
    env = make("KellyCoinflipGeneralized-v0").unwrapped
    env.reset(seed=1)
    env.step(10)
    saved = env.get_state()
    trace = [env.step(k)[0][0].item() for k in range(5)]
    other = make("KellyCoinflipGeneralized-v0").unwrapped
    other.set_state(saved)
    assert other.action_space == env.action_space
    assert [other.step(k)[0][0].item() for k in range(5)] == trace


def test_blackjack_v0_takes_no_cards_for_the_picture():
    old = make("Blackjack-v0").unwrapped
    for seed in range(50):
        old.reset(seed=seed)
        rng = np.random.default_rng(seed)
        cards = [min(int(rng.integers(0, 13)) + 1, 10) for _ in range(5)]
        assert (old.dealer, old.player) == (cards[:2], cards[2:4])
        old.step(1)
        assert old.player == cards[2:]


def test_blackjack_naturals():
    pays = {}
    for name, kwargs in (("plain", {}), ("natural", {"natural": True}), ("sab", {"sab": True})):
        env = make("Blackjack-v1", **{"sab": False, **kwargs}).unwrapped
        for rival, dealer in (("20", [10, 10]), ("21", [10, 6, 5]), ("natural", [10, 1])):
            env.reset(seed=0)
            env.player, env.dealer = [1, 10], dealer
            pays[name, rival] = env.step(0)[1]
    assert pays == {
        ("plain", "20"): 1.0,
        ("plain", "21"): 0.0,
        ("plain", "natural"): 0.0,
        ("natural", "20"): 1.5,
        ("natural", "21"): 0.0,
        ("natural", "natural"): 0.0,
        ("sab", "20"): 1.0,
        ("sab", "21"): 1.0,
        ("sab", "natural"): 0.0,
    }
