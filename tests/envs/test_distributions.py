"""What is drawn has the distribution the rules give it.

Compiled batches, environment ``i`` seeded with ``i``, so that the seeding of batches is tested
along. Seeds are fixed: a test passes always or never. The false-alarm level of each, the
probability that right code had failed with seeds chosen blindly, is 1e-4; there are some 60.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import ludus
from ludus.envs.grid.minatar import LEFT, RIGHT
from ludus.envs.toy_text.blackjack import hand_of
from tests.envs.states import put, read

stats = pytest.importorskip("scipy.stats")

LEVEL = 1e-4
COUNT = 20_000
CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
MINATAR = ["Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"]


@pytest.fixture(autouse=True)
def _quiet(recwarn):
    yield
    assert all("out of date" in str(w.message) for w in recwarn)


def batch(env_id, count=COUNT, **kwargs):
    envs = ludus.make_vec(env_id, count, autoreset_mode="Disabled", **kwargs)
    envs.reset(seed=0)
    return envs


def check_counts(found, probabilities):
    """Test a sample against the probability of each value; values without one must not occur."""
    counts = Counter(np.asarray(found).tolist())
    assert set(counts) <= set(probabilities)
    total = sum(counts.values())
    observed = [counts[value] for value in probabilities]
    expected = [total * p for p in probabilities.values()]
    assert min(expected) > 5
    assert stats.chisquare(observed, expected).pvalue > LEVEL


def evenly(values):
    values = list(values)
    return dict.fromkeys(values, 1 / len(values))


def test_the_test_itself_can_fail():
    rng = np.random.default_rng(0)
    check_counts(rng.integers(0, 6, COUNT), evenly(range(6)))
    with pytest.raises(AssertionError):
        check_counts(rng.random(COUNT) < 0.52, {True: 0.5, False: 0.5})
    with pytest.raises(AssertionError):
        check_counts(rng.integers(0, 7, COUNT), evenly(range(6)))


# --- tables ------------------------------------------------------------------------------------


def transition_counts(envs, steps):
    """Walk at random; return how often each state and action led where."""
    states, actions = envs.env.nS, envs.env.nA
    start = np.asarray(envs.reset(seed=0)[0])
    chosen = np.random.default_rng(1).integers(0, actions, (steps, envs.num_envs))
    walk = envs.rollout(list(chosen))
    before = np.vstack([start[None], walk.observations[:-1]])
    resets = np.vstack([np.zeros((1, envs.num_envs), bool), walk.terminations[:-1]])
    resets |= np.vstack([np.zeros((1, envs.num_envs), bool), walk.truncations[:-1]])
    counts = np.zeros((states, actions, states), int)
    np.add.at(counts, (before[~resets], chosen[~resets], walk.observations[~resets]), 1)
    return counts


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("FrozenLake-v1", {}),
        ("FrozenLake-v1", {"success_rate": 0.85}),
        ("FrozenLake8x8-v1", {}),
        ("CliffWalkingSlippery-v1", {}),
        ("Taxi-v4", {"is_rainy": True}),
        ("Taxi-v4", {"is_rainy": True, "rainy_probability": 0.5}),
    ],
)
def test_outcomes_of_tables(env_id, kwargs):
    envs = ludus.make_vec(env_id, 4000, **kwargs)
    counts = transition_counts(envs, 100)
    statistic, freedom = 0.0, 0
    for (state, choices), action in product(envs.env.P.items(), range(envs.env.nA)):
        likely = Counter()
        for probability, after, _, _ in choices[action]:
            likely[after] += probability
        seen = counts[state, action]
        assert seen.sum() == sum(seen[after] for after in likely)
        expected = {after: p * seen.sum() for after, p in likely.items() if p > 0}
        if len(expected) > 1 and min(expected.values()) > 5:
            statistic += sum((seen[after] - e) ** 2 / e for after, e in expected.items())
            freedom += len(expected) - 1
    assert freedom > 20
    assert stats.chi2.sf(statistic, freedom) > LEVEL


def test_where_taxis_start():
    envs = batch("Taxi-v4")
    starts = envs.env.initial_state_distrib
    check_counts(read(envs, "s"), {int(s): starts[s] for s in np.flatnonzero(starts)})


@pytest.mark.parametrize("probability", [0.3, 0.75])
def test_fickle_passengers(probability):
    envs = batch("Taxi-v4", fickle_passenger=True, fickle_probability=probability)
    check_counts(read(envs, "fickle"), {1: probability, 0: 1 - probability})
    put(envs, s=envs.env.encode(2, 2, 4, 1), fickle=1)
    after = envs.step(np.zeros(COUNT, int))[0]
    assert (after // 20 == (3 * 5 + 2)).all()
    check_counts(after % 4, evenly([0, 2, 3]))


# --- cards, wheels and coins ---------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ["Blackjack-v1", "tabular/Blackjack-v0"])
def test_dealt_cards(env_id):
    envs = batch(env_id)
    seen, _ = envs.reset(seed=5)
    total, dealer, ace = seen if isinstance(seen, tuple) else seen.T
    check_counts(dealer, CARDS)
    hands = Counter()
    for first, second in product(CARDS, CARDS):
        soft = 1 in (first, second)
        hands[first + second + 10 * soft, int(soft)] += CARDS[first] * CARDS[second]
    codes = {value * 2 + soft: p for (value, soft), p in hands.items()}
    check_counts(total * 2 + ace, codes)


def test_a_drawn_card():
    envs = batch("Blackjack-v1")
    hand, count, soft = hand_of([5, 5])
    put(envs, player=hand, player_count=count, player_soft=int(soft))
    totals = envs.step(np.ones(COUNT, int))[0][0]
    check_counts(totals, {10 + (11 if card == 1 else card): p for card, p in CARDS.items()})


def dealer_ends(total, ace):
    """Return the probability of each value a dealer may end with, 0 for a bust."""
    value = total + 10 if ace and total + 10 <= 21 else total
    if value >= 17:
        return {value if value <= 21 else 0: 1.0}
    ends = Counter()
    for card, p in CARDS.items():
        for end, q in dealer_ends(total + card, ace or card == 1).items():
            ends[end] += p * q
    return ends


@pytest.mark.parametrize("dealer", [[10, 6], [1, 2], [2, 3]])
def test_the_dealers_cards(dealer):
    envs = batch("Blackjack-v1")
    for who, hand in (("player", hand_of([10, 9])), ("dealer", hand_of(dealer))):
        put(envs, **dict(zip((who, f"{who}_count", f"{who}_soft"), hand, strict=True)))
    rewards = envs.step(np.zeros(COUNT, int))[1]
    pays = Counter()
    for end, p in dealer_ends(sum(dealer), 1 in dealer).items():
        pays[float(np.sign(19 - end))] += p
    check_counts(rewards, pays)


@pytest.mark.parametrize("action", [0, 1])
def test_slips_on_the_chain(action):
    envs = batch("NChain-v0")
    put(envs, link=2)
    links = envs.step(np.full(COUNT, action))[0]
    check_counts(links, {3: 0.8, 0: 0.2} if action == 0 else {0: 0.8, 3: 0.2})


@pytest.mark.parametrize(("bet", "win", "chance"), [(0, 36.0, 1 / 37), (1, 1.0, 18 / 37)])
def test_the_wheel(bet, win, chance):
    rewards = batch("Roulette-v0").step(np.full(COUNT, bet))[1]
    check_counts(rewards, {win: chance, -1.0: 1 - chance})


@pytest.mark.parametrize("edge", [0.6, 0.25])
def test_the_coin(edge):
    envs = batch("KellyCoinflip-v0", edge=edge)
    envs.step(np.full(COUNT, 100))
    check_counts(read(envs, "wealth"), {26.0: edge, 24.0: 1 - edge})


def test_games_with_an_unknown_coin():
    env = ludus.make("KellyCoinflipGeneralized-v0").unwrapped
    edges, rounds = [], []
    for seed in range(1500):
        env.reset(seed=seed)
        edges.append(env.edge)
        rounds.append(env.max_rounds)
    prior = stats.beta(env.edge_prior_alpha, env.edge_prior_beta)
    assert stats.kstest(edges, prior.cdf).pvalue > LEVEL
    spread = env.max_rounds_sd / np.sqrt(len(rounds))
    assert abs(np.mean(rounds) - env.max_rounds_mean) < -stats.norm.ppf(LEVEL / 2) * spread


# --- MinAtar -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sticky", [0.1, 0.4])
@pytest.mark.parametrize("game", MINATAR)
def test_sticky_actions(game, sticky):
    envs = batch(f"MinAtar/{game}-v0", sticky_action_prob=sticky)
    put(envs, last_action=LEFT)
    envs.step(np.full(COUNT, RIGHT))
    check_counts(read(envs, "last_action"), {LEFT: sticky, RIGHT: 1 - sticky})


def test_where_the_ball_starts():
    envs = batch("MinAtar/Breakout-v1")
    check_counts(read(envs, "x"), evenly([0, 9]))


def test_cars():
    envs = batch("MinAtar/Freeway-v1")
    speeds = read(envs, "speeds")
    assert speeds.shape == (COUNT, 8)
    for lane in range(8):
        check_counts(speeds[:, lane], evenly([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]))


def test_gold_and_enemies():
    envs = batch("MinAtar/Asterix-v1")
    put(envs, spawn_timer=0, move_timer=5)
    envs.step(np.zeros(COUNT, int))
    columns = read(envs, "columns")
    lanes = (columns != columns.min()).argmax(axis=1)
    check_counts(lanes, evenly(range(8)))
    rows = np.arange(COUNT)
    check_counts(read(envs, "gold")[rows, lanes].astype(int), {1: 1 / 3, 0: 2 / 3})
    check_counts(read(envs, "rightward")[rows, lanes].astype(int), evenly([0, 1]))


def test_fish_submarines_and_divers():
    from ludus.envs.grid.seaquest_things import DIVERS, FISH, SUBS

    envs = batch("MinAtar/Seaquest-v1")
    put(envs, spawn_timer=0, diver_timer=0)
    envs.step(np.zeros(COUNT, int))
    counts, things = read(envs, "counts"), read(envs, "things")
    assert (counts[:, FISH] + counts[:, SUBS] == 1).all()
    check_counts(counts[:, SUBS], {1: 1 / 3, 0: 2 / 3})
    assert (counts[:, DIVERS] == 1).all()
    for chosen, kind in ((counts[:, SUBS] == 1, SUBS), (counts[:, FISH] == 1, FISH)):
        check_counts(things[chosen, kind, 0, 1], evenly(range(1, 9)))
        check_counts(things[chosen, kind, 0, 2], evenly([0, 1]))
    check_counts(things[:, DIVERS, 0, 1], evenly(range(1, 9)))


# --- first states --------------------------------------------------------------------------------


BOUNDS = {
    "CartPole-v1": dict.fromkeys(("x", "x_dot", "theta", "theta_dot"), (-0.05, 0.05)),
    "phys2d/CartPole-v1": dict.fromkeys(("x", "x_dot", "theta", "theta_dot"), (-0.05, 0.05)),
    "MountainCar-v0": {"position": (-0.6, -0.4)},
    "MountainCarContinuous-v0": {"position": (-0.6, -0.4)},
    "Pendulum-v1": {"theta": (-np.pi, np.pi), "theta_dot": (-1.0, 1.0)},
    "phys2d/Pendulum-v0": {"theta": (-np.pi, np.pi), "theta_dot": (-1.0, 1.0)},
    "Acrobot-v1": dict.fromkeys(("theta_1", "theta_2", "speed_1", "speed_2"), (-0.1, 0.1)),
}


@pytest.mark.parametrize("env_id", BOUNDS)
def test_first_states_are_uniform_and_independent(env_id):
    envs = batch(env_id)
    for episode in range(2):
        if episode:
            envs.reset()
        columns = []
        for name, (low, high) in BOUNDS[env_id].items():
            column = read(envs, name)
            assert low <= column.min() < column.max() <= high + 1e-8
            assert stats.kstest(column, stats.uniform(low, high - low).cdf).pvalue > LEVEL
            columns += [column, np.roll(column, 1)]
        # Neither the numbers of one environment nor those of neighbouring seeds go together.
        for i, left in enumerate(columns):
            for right in columns[:i]:
                assert stats.pearsonr(left, right).pvalue > LEVEL


@pytest.mark.parametrize(("env_id", "base"), [("Copy-v0", 5), ("Reverse-v0", 2)])
def test_tapes(env_id, base):
    envs = batch(env_id)
    shortest = 1 if env_id == "Reverse-v0" else 2
    check_counts(read(envs, "width"), evenly(range(shortest, shortest + 3)))
    check_counts(read(envs, "data")[:, 0, 0], evenly(range(base)))
