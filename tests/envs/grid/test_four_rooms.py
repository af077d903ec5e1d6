"""Four rooms: every step of every cell as gymnax 1.0.1 makes it, chance, and options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludus.envs.grid import FourRoomsEnv, FourRoomsVisualEnv
from ludus.envs.grid.four_rooms import MAP
from ludus.errors import StateError
from ludus.registration import make, make_vec

FACTS = json.loads(Path(__file__).with_name("gymnax_facts.json").read_text())["four_rooms"]
CELLS = [
    (row, column)
    for row, line in enumerate(FACTS["walls"])
    for column, letter in enumerate(line)
    if letter == "."
]
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


def at(env, row, column):
    env.state = env.state._replace(row=row, column=column)
    return env


def test_facts_about_the_map_and_the_defaults():
    assert list(MAP) == FACTS["walls"]
    assert len(CELLS) == 104
    env = make("FourRooms-v0")
    params = env.unwrapped.params
    assert params.fail_prob == FACTS["fail_prob"] == 1 / 3
    assert env.spec.max_episode_steps == FACTS["limit"] == 500
    observation, info = env.reset(seed=0)
    assert observation.tolist() == [*FACTS["start"], *FACTS["goal"]]
    assert info == {}


def test_every_step_of_every_cell():
    env = FourRoomsEnv(fail_prob=0.0)
    env.reset(seed=0)
    following, rewarded, done = [], [], []
    for k, (row, column) in enumerate(CELLS):
        for action in range(4):
            observation, reward, terminated, _, _ = at(env, row, column).step(action)
            following.append(CELLS.index(tuple(observation[:2].astype(int).tolist())))
            rewarded += [4 * k + action] if reward == 1.0 else []
            done += [4 * k + action] if terminated else []
    assert following == FACTS["next"]
    assert rewarded == FACTS["rewarded"]
    assert done == FACTS["done"]


def outcomes(env, count):
    """Return how often a step up from an open place goes in each direction."""
    env.reset(seed=7)
    ends = [tuple(at(env, 9, 9).step(0)[0][:2].astype(int)) for _ in range(count)]
    return [ends.count((9 + down, 9 + right)) / count for down, right in MOVES]


def test_a_third_of_the_steps_goes_astray():
    shares = outcomes(FourRoomsEnv(goal=(1, 1)), 6000)
    assert sum(shares) == pytest.approx(1.0)
    np.testing.assert_allclose(shares, [2 / 3, 1 / 9, 1 / 9, 1 / 9], atol=0.02)


def test_certain_failure_never_goes_as_asked():
    shares = outcomes(FourRoomsEnv(goal=(1, 1), fail_prob=1.0), 3000)
    assert shares[0] == 0.0
    np.testing.assert_allclose(shares[1:], [1 / 3] * 3, atol=0.03)


@pytest.mark.parametrize("goal", [None, (3, 6)])
@pytest.mark.parametrize("start", [None, (1, 1)])
def test_positions_are_fixed_or_drawn(goal, start):
    venv = FourRoomsEnv.vector(4000, goal=goal, start=start)
    seen, _ = venv.reset(seed=0)
    starts = list(map(tuple, seen[:, :2].astype(int).tolist()))
    goals = list(map(tuple, seen[:, 2:].astype(int).tolist()))
    everywhere = set(CELLS)
    assert set(goals) == ({goal} if goal else everywhere - {start})
    assert set(starts) == ({start} if start else everywhere - {goal})
    assert all(a != b for a, b in zip(starts, goals, strict=True))


def test_the_visual_variant_shows_the_same_game():
    numbers, planes = make("FourRooms-v0"), make("FourRoomsVisual-v0")
    row, column, goal_row, goal_column = numbers.reset(seed=3)[0].astype(int)
    seen, _ = planes.reset(seed=3)
    for step in range(60):
        assert seen.shape == (13, 13, 3)
        assert [list(line) for line in MAP] == np.where(seen[:, :, 0], "#", ".").tolist()
        assert np.argwhere(seen[:, :, 1]).tolist() == [[row, column]]
        assert np.argwhere(seen[:, :, 2]).tolist() == [[goal_row, goal_column]]
        (row, column, *_), *expected = numbers.step(step % 4)
        seen, *found = planes.step(step % 4)
        assert expected == found


@pytest.mark.parametrize("kind", [FourRoomsEnv, FourRoomsVisualEnv])
def test_a_state_from_outside_cannot_reach_other_memory(kind):
    env = kind()
    env.reset(seed=0)
    for row, column in ((10**9, 1), (1, 10**9), (0, 0)):
        with pytest.raises(StateError):
            at(env, row, column)


def test_a_time_limit_of_500_steps():
    venv = make_vec("FourRooms-v0", num_envs=2, goal=(11, 11), fail_prob=0.0)
    venv.reset(seed=0)
    cut = [venv.step(np.array([0, 0]))[3].any() for _ in range(500)]
    assert cut.index(True) == 499


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fail_prob": 1.5}, "fail_prob is a probability"),
        ({"fail_prob": float("nan")}, "fail_prob is NaN"),
        ({"goal": (0, 3)}, "goal is .* no free cell"),
        ({"goal": "x"}, "goal is 'x'; expected two whole numbers"),
        ({"goal": 7}, "goal is 7; expected two whole numbers"),
        ({"goal": (1.5, 2)}, "goal is .* expected two whole numbers"),
        ({"start": (1, 2, 3)}, "start is .* expected two whole numbers"),
        ({"start": (6, 1)}, "start is .* no free cell"),
        ({"start": (1, 13)}, "no free cell"),
        ({"start": (8, 9)}, "both"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        FourRoomsEnv(**options)
