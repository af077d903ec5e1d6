"""The algorithmic tasks: constants, rewards, time limits, data and targets."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.envs.algorithmic import (
    CopyEnv,
    DuplicatedInputEnv,
    RepeatCopyEnv,
    ReversedAdditionEnv,
    ReverseEnv,
)
from ludus.envs.algorithmic.registration import SPECS
from ludus.errors import InvalidAction, ResetNeeded
from ludus.registration import make, make_vec
from ludus.spaces import Discrete, Tuple
from tests.envs.algorithmic.play import data, solve, target, wrong

CONSTANTS = {
    # id: class, kwargs, base, moves, minimal length, threshold
    "Copy-v0": (CopyEnv, {}, 5, 2, 2, 25.0),
    "RepeatCopy-v0": (RepeatCopyEnv, {}, 5, 2, 2, 75.0),
    "DuplicatedInput-v0": (DuplicatedInputEnv, {}, 5, 2, 2, 9.0),
    "Reverse-v0": (ReverseEnv, {}, 2, 2, 1, 25.0),
    "ReversedAddition-v0": (ReversedAdditionEnv, {}, 3, 4, 2, 25.0),
    "ReversedAddition3-v0": (ReversedAdditionEnv, {"rows": 3}, 3, 4, 2, 25.0),
}
TASKS = {name: row[:2] for name, row in CONSTANTS.items()}


def build(name, **kwargs):
    kind, own = TASKS[name]
    return kind(**own, **kwargs)


def added(columns, base):
    number = sum(digit * base**i for i, column in enumerate(columns) for digit in column)
    digits = []
    for _ in columns:
        digits.append(number % base)
        number //= base
    return digits + ([number] if number else [])


EXPECTED = {
    "Copy-v0": lambda x: x,
    "RepeatCopy-v0": lambda x: x + x[::-1] + x,
    "DuplicatedInput-v0": lambda x: x[::2],
    "Reverse-v0": lambda x: x[::-1],
}
LIMITS = {
    "Copy-v0": lambda n: 2 * n + 4,
    "RepeatCopy-v0": lambda n: 4 * n + 4,
    "DuplicatedInput-v0": lambda n: n + n // 2 + 4,
    "Reverse-v0": lambda n: 2 * n + 4,
    "ReversedAddition-v0": lambda n: 2 * n + 4,
    "ReversedAddition3-v0": lambda n: 2 * n + 4,
}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_specs(spec):
    kind, kwargs, base, moves, _, threshold = CONSTANTS[spec.id]
    assert spec.reward_threshold == threshold
    assert spec.max_episode_steps == 200
    assert spec.nondeterministic is False
    assert spec.kwargs == kwargs
    assert spec.family == "algorithmic"
    assert spec.description
    env = make(spec)
    assert type(env.unwrapped) is kind
    assert env.observation_space == Discrete(base + 1)
    assert env.action_space == Tuple((Discrete(moves), Discrete(2), Discrete(base)))
    assert env.metadata["render_modes"] == ["human", "ansi"]


def test_every_id_has_a_row():
    assert [spec.id for spec in SPECS] == list(CONSTANTS)


@pytest.mark.parametrize("name", TASKS)
def test_inputs_targets_and_limits(name):
    env = build(name)
    _, _, base, _, shortest, _ = CONSTANTS[name]
    widths, lengths, symbols = set(), set(), set()
    for seed in range(100):
        observation, info = env.reset(seed=seed)
        assert info == {}
        x, y = data(env), target(env)
        assert env.state.width == len(x)
        assert observation == x[0][0]
        if name in EXPECTED:
            assert y == EXPECTED[name]([column[0] for column in x])
        else:
            assert y == added(x, base)
        assert env.state.limit == LIMITS[name](len(x))
        widths.add(len(x))
        lengths.add(len(y))
        symbols |= {symbol for column in x for symbol in column}
    if name == "DuplicatedInput-v0":
        assert widths == {2, 4}
        assert lengths == {1, 2}
        assert all(a == b for a, b in zip(x[::2], x[1::2], strict=True))
    else:
        assert widths == {shortest, shortest + 1, shortest + 2}
    assert symbols == set(range(base))


@pytest.mark.parametrize("name", TASKS)
def test_draws_come_in_order(name):
    """Size first, then the symbols, column by column; nothing else."""
    env = build(name)
    env.reset(seed=8)
    rng = np.random.default_rng(8)
    _, kwargs, base, _, shortest, _ = CONSTANTS[name]
    width = shortest + int(rng.integers(0, 3))
    if name == "DuplicatedInput-v0":
        drawn = [[int(rng.integers(0, base))] for _ in range(width // 2)]
        expected = [column for column in drawn for _ in range(2)]
    else:
        rows = kwargs.get("rows", 2 if "Addition" in name else 1)
        expected = [[int(rng.integers(0, base)) for _ in range(rows)] for _ in range(width)]
    assert data(env) == expected
    assert env.np_random.random() == rng.random()


@pytest.mark.parametrize("name", TASKS)
def test_a_perfect_episode(name):
    env = build(name)
    env.reset(seed=3)
    rewards, terminated = solve(env)
    assert rewards == [1.0] * len(target(env))
    assert terminated


def test_a_wrong_symbol_ends_the_episode():
    env = CopyEnv()
    env.reset(seed=0)
    assert env.step((1, 0, wrong(env)))[1:4] == (0.0, False, False)
    assert env.step((1, 1, target(env)[0]))[1:4] == (1.0, False, False)
    assert env.step((1, 1, wrong(env)))[1:] == (-0.5, True, False, {})
    assert env.state.total == 0.5


def test_the_head_reads_blank_outside_and_comes_back():
    env = CopyEnv()
    first, _ = env.reset(seed=1)
    assert [env.step((0, 0, 0))[0] for _ in range(3)] == [5, 5, 5]
    assert [env.step((1, 0, 0))[0] for _ in range(3)] == [5, 5, first]


def test_moves_on_the_grid():
    env = ReversedAdditionEnv(rows=2)
    env.reset(seed=2)
    grid = data(env)
    seen = [env.step((move, 0, 0))[0] for move in (3, 1, 2, 0, 2, 3, 0)]
    assert seen == [grid[0][1], grid[1][1], grid[1][0], grid[0][0], 3, grid[0][0], 3]


@pytest.mark.parametrize("name", TASKS)
def test_overtime_replaces_the_reward(name):
    env = build(name)
    env.reset(seed=4)
    free = LIMITS[name](env.state.width)
    for _ in range(free - len(target(env)) + 1):
        assert env.step((0, 0, 0))[1:3] == (0.0, False)
    for symbol in target(env)[:-1]:
        assert env.step((0, 1, symbol))[1:3] == (1.0, False)
    assert env.state.steps == free
    assert env.step((0, 1, target(env)[-1]))[1:3] == (-1.0, True)


def test_two_symbols_leave_eight_free_steps():
    env = CopyEnv()
    seed = next(s for s in range(99) if env.reset(seed=s) and env.state.width == 2)
    env.reset(seed=seed)
    results = [env.step((0, 0, 0))[1:3] for _ in range(9)]
    assert results == [(0.0, False)] * 8 + [(-1.0, True)]


def test_the_last_move_still_happens():
    env = CopyEnv()
    env.reset(seed=5)
    assert env.step((1, 1, wrong(env)))[0] == data(env)[1][0]


def test_writing_past_the_end_is_wrong_and_warns():
    env = CopyEnv()
    env.reset(seed=0)
    solve(env)
    assert env.step((0, 0, 0))[1:3] == (0.0, False)
    with pytest.warns(UserWarning, match="past the end of the target"):
        assert env.step((0, 1, 0))[1:3] == (-0.5, True)


def test_longest_inputs_fit():
    for name in TASKS:
        env = build(name)
        env.reset(seed=0)
        env.state = env.state._replace(min_length=30)
        for seed in range(10):
            env.reset(seed=seed)
            assert 30 <= env.state.width <= 32
            assert solve(env)[1]
    assert LIMITS["RepeatCopy-v0"](32) + 1 == 133


@pytest.mark.parametrize("name", TASKS)
def test_many_at_once_equal_one_by_one(name):
    spec = next(spec for spec in SPECS if spec.id == name)
    venv = make_vec(spec, num_envs=3)
    singles = [make(spec) for _ in range(3)]
    seen, _ = venv.reset(seed=10)
    assert list(seen) == [env.reset(seed=10 + i)[0] for i, env in enumerate(singles)]
    rng = np.random.default_rng(0)
    done = [False] * 3
    for _ in range(300):
        actions = tuple(rng.integers(0, part.n, 3) for part in singles[0].action_space)
        seen, rewards, terminated, truncated, _ = venv.step(actions)
        for i, env in enumerate(singles):
            if done[i]:
                assert (seen[i], rewards[i], terminated[i]) == (env.reset()[0], 0.0, False)
                done[i] = False
                continue
            expected = env.step(tuple(int(part[i]) for part in actions))
            got = (seen[i], rewards[i], terminated[i], truncated[i])
            assert got == expected[:4]
            done[i] = bool(terminated[i] or truncated[i])
    venv.close()


def test_options():
    assert CopyEnv(base=7).observation_space == Discrete(8)
    assert ReversedAdditionEnv(rows=4, base=10).params.rows == 4
    env = DuplicatedInputEnv(duplication=40)
    env.reset(seed=0)
    assert env.state.width == 40
    assert len(target(env)) == 1
    assert len({column[0] for column in data(env)}) == 1


@pytest.mark.parametrize(
    ("kind", "kwargs"),
    [
        (CopyEnv, {"base": 0}),
        (RepeatCopyEnv, {"base": "five"}),
        (DuplicatedInputEnv, {"duplication": 0}),
        (DuplicatedInputEnv, {"base": -1}),
        (ReverseEnv, {"base": 2.0}),
        (ReversedAdditionEnv, {"rows": True}),
    ],
)
def test_bad_arguments(kind, kwargs):
    with pytest.raises(ValueError, match=rf"{next(iter(kwargs))} is .*at least 1"):
        kind(**kwargs)


@pytest.mark.parametrize("action", [(2, 0, 0), (0, 2, 0), (0, 0, 5), (0, 0), 3, None])
def test_bad_actions(action):
    env = CopyEnv()
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step(action)


def test_lists_are_actions_too():
    env = CopyEnv()
    env.reset(seed=0)
    assert env.step([1, 1, target(env)[0]])[1] == 1.0


def test_step_needs_a_reset():
    with pytest.raises(ResetNeeded):
        CopyEnv().step((0, 0, 0))
