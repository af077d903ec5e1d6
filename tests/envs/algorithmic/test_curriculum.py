"""How inputs grow longer."""

from __future__ import annotations

import pytest

from ludus.envs.algorithmic import (
    CopyEnv,
    DuplicatedInputEnv,
    RepeatCopyEnv,
    ReversedAdditionEnv,
    ReverseEnv,
)
from tests.envs.algorithmic.play import solve, target, wrong

WINDOWS = [
    (CopyEnv, 10, 2),
    (RepeatCopyEnv, 50, 2),
    (ReverseEnv, 50, 1),
    (ReversedAdditionEnv, 10, 2),
]


def resets_until_longer(env, play, most=130, first=0):
    """Return the numbers of the resets that made inputs longer."""
    found, before = [], None
    for number in range(1, most + 1):
        env.reset(seed=first + number)
        length = env.state.min_length
        if before is not None and length > before:
            assert length == before + 1
            found.append(number)
        before = length
        play(env)
    return found


@pytest.mark.parametrize(("kind", "window", "start"), WINDOWS)
def test_perfect_play_is_promoted_after_a_window_and_one(kind, window, start):
    env = kind()
    env.reset(seed=0)
    assert env.state.min_length == start
    found = resets_until_longer(kind(), solve)
    assert found == list(range(window + 1, 131, window))


def test_a_short_phantom_counts_in_duplicated_input():
    """The episode before the first is as good as any other if its target has one symbol."""
    env = DuplicatedInputEnv()
    one = next(s for s in range(99) if env.reset(seed=s) and len(target(env)) == 1)
    two = next(s for s in range(99) if env.reset(seed=s) and len(target(env)) == 2)
    assert resets_until_longer(DuplicatedInputEnv(), solve, 15, one - 1)[:1] == [10]
    assert resets_until_longer(DuplicatedInputEnv(), solve, 15, two - 1)[:1] == [11]


def test_one_failure_starts_the_window_again():
    env = CopyEnv()
    lengths = []
    for number in range(1, 17):
        env.reset(seed=number)
        lengths.append(env.state.min_length)
        if number == 5:
            env.step((0, 1, wrong(env)))
        else:
            solve(env)
    assert lengths == [2] * 15 + [3]


def write_all_but(missing):
    def play(env):
        for symbol in target(env)[:-missing]:
            env.step((1, 1, symbol))

    return play


def test_leaving_one_symbol_out_is_good_enough_only_for_some():
    assert resets_until_longer(CopyEnv(), write_all_but(1), 30) == [11, 21]
    assert resets_until_longer(CopyEnv(), write_all_but(2), 30) == []
    assert resets_until_longer(ReverseEnv(), write_all_but(1), 120) == []


def test_wrong_last_symbol_is_not_good_enough():
    def play(env):
        for symbol in target(env)[:-1]:
            env.step((1, 1, symbol))
        env.step((1, 1, wrong(env)))

    assert resets_until_longer(CopyEnv(), play, 30) == []


def test_thirty_is_the_end():
    env = CopyEnv()
    env.reset(seed=0)
    env.state = env.state._replace(min_length=29)
    lengths = []
    for number in range(40):
        solve(env)
        env.reset(seed=number)
        lengths.append(env.state.min_length)
    assert lengths[0] == 29
    assert lengths[-1] == 30
    assert max(lengths) == 30


def test_the_level_outlives_seeding_and_belongs_to_the_object():
    env, other = CopyEnv(), CopyEnv()
    for number in range(11):
        env.reset(seed=number)
        solve(env)
    other.reset(seed=7)
    env.reset(seed=7)
    assert (env.state.min_length, other.state.min_length) == (3, 2)
    assert env.state.width == other.state.width + 1


def test_a_saved_state_holds_the_level():
    env, other = CopyEnv(), CopyEnv()
    for number in range(11):
        env.reset(seed=number)
        solve(env)
    env.reset(seed=0)
    other.reset()
    other.set_state(env.get_state())
    assert other.state.min_length == 3
    assert target(other) == target(env)
    assert other.reset()[0] == env.reset()[0]
