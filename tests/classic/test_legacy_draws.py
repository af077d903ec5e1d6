"""Environments that classic Gym had, seeded as it seeded them, draw what its code drew.

Each game is worked out here from the draws that Gym's source made, in its order, from a
``RandomState``: `randint`, `rand`, `uniform`, `beta`, `normal`, `choice`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ludus.classic as gym
from ludus.classic.utils.seeding import np_random

SEED = 123
STEPS = 60
DECK = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]


def played(env_id: str, actions: Any, **kwargs: Any) -> list[Any]:
    """Return first observations as they are, and steps as (observation, reward, done)."""
    env = gym.make(env_id, **kwargs)
    assert env.seed(SEED) == [SEED]
    seen: list[Any] = [env.reset()]
    for action in actions:
        seen.append(env.step(action)[:3])
        if seen[-1][2]:
            seen.append(env.reset())
    return seen


def test_roulette() -> None:
    rng, _ = np_random(SEED)
    bets = [k % 37 for k in range(STEPS)]
    expected: list[Any] = [0]
    for bet in bets:
        pocket = rng.randint(0, 37)
        won = bet != 0 and pocket != 0 and bet % 2 == pocket % 2
        pay = 36.0 if bet == pocket == 0 else 1.0 if won else -1.0
        expected.append((0, pay, False))
    assert played("Roulette-v0", bets) == expected


def test_nchain() -> None:
    rng, _ = np_random(SEED)
    actions = [int(k % 7 == 6) for k in range(STEPS)]
    link, expected = 0, [0]
    for action in actions:
        back = bool(action) != (rng.rand() < 0.2)
        pay = 2 if back else 10 if link == 4 else 0
        link = 0 if back else min(link + 1, 4)
        expected.append((link, pay, False))
    assert played("NChain-v0", actions) == expected


def test_guesses() -> None:
    rng, _ = np_random(SEED)
    guesses = [np.array([k * 37.5 - 1100], np.float32) for k in range(STEPS)]
    number, expected = rng.uniform(-1000, 1000), [0]
    for guess in guesses:
        near = bool(abs(guess - number) < 10)
        expected.append((1 if guess < number else 3, float(near), near))
        if near:
            number = rng.uniform(-1000, 1000)
            expected.append(0)
    assert played("GuessingGame-v0", guesses) == expected
    number = np_random(SEED)[0].uniform(-1000, 1000)
    rewards = [step[1] for step in played("HotterColder-v0", guesses)[1:]]
    assert rewards == [
        (((min(g, number) + 2000) / (max(g, number) + 2000)) ** 2)[0] for g in guesses
    ]


def test_kelly() -> None:
    rng, _ = np_random(SEED)
    wealth, left, expected = 25.0, 300, []
    for k in range(STEPS):
        bet = min(k * 25 / 100, wealth)
        wealth = min(250.0, wealth + (bet if rng.uniform() < 0.6 else -bet))
        left -= 1
        done = wealth < 0.01 or wealth == 250.0
        expected.append(([np.float32(wealth)], left, wealth if done else 0.0, done))
        if done:
            wealth, left = 25.0, 300
    steps = [s for s in played("KellyCoinflip-v0", range(0, STEPS * 25, 25)) if len(s) == 3]
    assert [(o[0].tolist(), o[1], r, d) for o, r, d in steps] == expected


@pytest.mark.parametrize("clip", [False, True])
def test_generalized_kelly(clip: bool) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng, _ = np_random(SEED)
    env = gym.make("KellyCoinflipGeneralized-v0", clip_distributions=clip)
    env.seed(SEED)
    spaces = set()
    for _ in range(30):
        env.reset()
        edge, cap, rounds = rng.beta(7, 3), np.inf, np.inf
        while cap > (2834 if clip else 1e300):
            cap = round(stats.genpareto.rvs(5.0, 200.0, random_state=rng))
        while rounds > (358 if clip else 1e300):
            rounds = round(rng.normal(300.0, 25.0))
        assert (env.edge, env.max_wealth, env.max_rounds) == (edge, cap, rounds)
        assert env.reward_range == (0, cap)
        spaces.add(env.action_space.n)
        assert env.action_space.n == (283400 if clip else min(int(cap * 100), 2**63 - 1))
        wealth = 25.0
        for k in range(1, 6):
            wealth += 1.0 if rng.uniform() < edge else -1.0
            (held, played_rounds, won, lost, most), reward, done, _ = env.step(100)
            assert (held.tolist(), played_rounds, won, lost) == ([wealth], k, k, 0)
            assert most >= held
            assert (reward, done) == (0.0, False)
    assert (len(spaces) == 1) is clip


@pytest.mark.parametrize(
    "env_id",
    ["FrozenLake-v0", "FrozenLake8x8-v0", "CliffWalking-v0", "Taxi-v1", "Taxi-v2", "Taxi-v3"],
)
def test_tables(env_id: str) -> None:
    def drawn(chances: Any) -> int:
        return int((np.cumsum(chances) > rng.rand()).argmax())

    rng, _ = np_random(SEED)
    env = gym.make(env_id).unwrapped
    state = drawn(env.isd)
    expected: list[Any] = [state]
    actions = [(3 * k * k + k) % env.nA for k in range(STEPS)]
    for action in actions:
        outcomes = env.P[state][action]
        _, state, reward, done = outcomes[drawn([outcome[0] for outcome in outcomes])]
        expected.append((state, reward, done))
        if done:
            state = drawn(env.isd)
            expected.append(state)
    assert played(env_id, actions) == expected


def test_blackjack() -> None:
    def card() -> int:
        return int(rng.choice(DECK))

    def total(hand: list[int]) -> int:
        return sum(hand) + 10 * (1 in hand and sum(hand) <= 11)

    def seen() -> tuple[int, int, bool]:
        return total(player), dealer[0], total(player) != sum(player)

    rng, _ = np_random(SEED)
    dealer, player = [card(), card()], [card(), card()]
    expected: list[Any] = [seen()]
    actions = [int(k % 3 != 0) for k in range(STEPS)]
    for hit in actions:
        reward = 0.0
        if hit:
            player.append(card())
            done = total(player) > 21
            reward = -1.0 if done else 0.0
        else:
            done = True
            while total(dealer) < 17:
                dealer.append(card())
            theirs = 0 if total(dealer) > 21 else total(dealer)
            reward = float(np.sign(total(player) - theirs))
        expected.append((seen(), reward, done))
        if done:
            dealer, player = [card(), card()], [card(), card()]
            expected.append(seen())
    assert played("Blackjack-v0", actions) == expected


@pytest.mark.parametrize(
    ("env_id", "base", "rows", "shortest"),
    [
        ("Copy-v0", 5, 1, 2),
        ("RepeatCopy-v0", 5, 1, 2),
        ("DuplicatedInput-v0", 5, 1, 2),
        ("Reverse-v0", 2, 1, 1),
        ("ReversedAddition-v0", 3, 2, 2),
        ("ReversedAddition3-v0", 3, 3, 2),
    ],
)
def test_inputs(env_id: str, base: int, rows: int, shortest: int) -> None:
    """The tape's first row is read by walking right; resets that leave early do not level up."""
    rng, _ = np_random(SEED)
    env = gym.make(env_id)
    env.seed(SEED)
    for _ in range(20):
        size = rng.randint(3) + shortest
        if env_id == "DuplicatedInput-v0":
            row = [symbol for _ in range(size // 2) for symbol in [rng.randint(base)] * 2]
        else:
            columns = [[rng.randint(base) for _ in range(rows)] for _ in range(size)]
            row = [column[0] for column in columns]
        read = [env.reset()]
        read += [env.step((1, 0, 0))[0] for _ in range(len(row))]
        assert read == [*row, base]
