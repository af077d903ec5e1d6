"""The maze with a hidden goal: walls, steps and views as gymnax 1.0.1 has them; its own rules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludus.envs.grid import MetaMazeEnv
from ludus.envs.grid.four_rooms import MAP
from ludus.registration import make

FILE = json.loads(Path(__file__).with_name("gymnax_facts.json").read_text())
MAZES = FILE["meta_maze"]
SIZES = [f"{maze['size']} seen by {maze['view_size']}" for maze in MAZES]


def of_size(maze, **options):
    env = MetaMazeEnv(size=maze["size"], view_size=maze["view_size"], **options)
    env.reset(seed=0)
    return env


def free(env):
    return list(map(tuple, np.argwhere(env.params.walls == 0).tolist()))


def put(env, **fields):
    env.state = env.state._replace(**fields)
    return env


def test_defaults():
    env, defaults = make("MetaMaze-v0"), FILE["meta_maze_defaults"]
    assert env.unwrapped.params.goal_reward == defaults["reward"]
    assert env.unwrapped.params.wall_reward == defaults["punishment"]
    assert env.spec.max_episode_steps == env.unwrapped.params.max_steps == defaults["limit"]
    observation, info = env.reset(seed=0)
    assert observation.dtype == np.float32
    assert observation[9:].tolist() == [1, 0, 0, 0, 0, -1]
    assert info == {}


@pytest.mark.parametrize("maze", MAZES, ids=SIZES)
def test_walls_and_views_of_every_cell(maze):
    env = of_size(maze, normalize_time=False)
    walls = ["".join("#" if wall else "." for wall in row) for row in env.params.walls.tolist()]
    assert walls == maze["walls"]
    bits = maze["view_size"] ** 2
    for (row, column), view in zip(free(env), maze["views"], strict=True):
        out = np.full(bits + 6, np.nan, np.float32)
        put(env, row=row, column=column, last_action=2, last_reward=-0.5, steps=31)
        env.kernel.observation(env.params, env.state, out)
        assert "".join(str(int(bit)) for bit in out[:bits]) == view
        assert out[bits:].tolist() == [0, 0, 1, 0, -0.5, 31]


@pytest.mark.parametrize("maze", MAZES, ids=SIZES)
def test_every_step_of_every_cell(maze):
    env = of_size(maze, wall_reward=-0.5)
    cells = free(env)
    goal_row, goal_column = maze["goal"]
    following, bumped, reached = [], [], []
    for k, (row, column) in enumerate(cells):
        for action in range(4):
            # A goal in the wall is one that cannot be reached.
            put(env, row=row, column=column, goal_row=0, goal_column=0)
            _, reward, terminated, _, _ = env.step(action)
            following.append(cells.index((env.state.row, env.state.column)))
            bumped += [4 * k + action] if reward == -0.5 else []
            assert reward in (0.0, -0.5)
            assert not terminated
            put(env, row=row, column=column, goal_row=goal_row, goal_column=goal_column)
            reached += [4 * k + action] if env.step(action)[1] == 10.0 else []
    assert following == maze["next"]
    assert bumped == maze["bumped"]
    # There, standing on the goal and walking into a wall pays too; here nobody stands on it.
    on_goal = [4 * cells.index((goal_row, goal_column)) + action for action in range(4)]
    assert reached == [k for k in maze["at_goal"] if k not in on_goal]


def test_the_goal_stays_and_the_agent_goes_on_elsewhere():
    env = MetaMazeEnv()
    env.reset(seed=5)
    ends = set()
    for _ in range(2000):
        put(env, row=5, column=4, goal_row=5, goal_column=5)
        observation, reward, terminated, truncated, _ = env.step(1)
        assert (reward, terminated, truncated) == (10.0, False, False)
        assert observation[9:14].tolist() == [0, 1, 0, 0, 10]
        assert (env.state.goal_row, env.state.goal_column) == (5, 5)
        ends.add((env.state.row, env.state.column))
    assert ends == set(free(env)) - {(5, 5)}


def test_goals_are_everywhere_but_at_the_start():
    venv = MetaMazeEnv.vector(3000)
    venv.reset(seed=0)
    columns = venv._storage.columns()
    goals = set(zip(columns["goal_row"].tolist(), columns["goal_column"].tolist(), strict=True))
    assert set(columns["row"]) == set(columns["column"]) == {5}
    assert goals == set(free(venv.env)) - {(5, 5)}


@pytest.mark.parametrize(("normalize", "times"), [(True, (-0.99, 1.0)), (False, (1.0, 200.0))])
def test_time_ends_with_the_episode(normalize, times):
    env = MetaMazeEnv(normalize_time=normalize)
    env.reset(seed=0)
    first = env.step(0)[0][-1]
    put(env, steps=199)
    assert (first, env.step(0)[0][-1]) == pytest.approx(times)
    assert env.step(0)[0][-1] == times[1]
    assert env.observation_space.high[-1] == times[1]


def test_layouts():
    assert np.count_nonzero(MetaMazeEnv(maze="open", size=5).params.walls == 0) == 25
    rooms = MetaMazeEnv(maze="rooms", size=9).params.walls
    assert np.count_nonzero(rooms == 0) == 4 * 16 + 4
    given = MetaMazeEnv(maze=MAP)
    assert np.count_nonzero(given.params.walls == 0) == 104
    given.reset(seed=0)
    assert (given.state.row, given.state.column) == (6, 7)


@pytest.mark.parametrize("size", [5, 7, 9, 11, 13])
@pytest.mark.parametrize("maze", ["pillars", "rooms", "open"])
def test_every_cell_can_be_reached_from_the_start(maze, size):
    env = MetaMazeEnv(maze=maze, size=size, view_size=5)
    walls = env.params.walls
    reached = {(env.params.start_row, env.params.start_column)}
    while True:
        more = {(r + a, c + b) for r, c in reached for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))}
        more = {cell for cell in more if not walls[cell]} - reached
        if not more:
            break
        reached |= more
    assert reached == set(free(env))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maze": "spiral"}, "no maze 'spiral'"),
        ({"maze": ("###", "#.#", "###")}, "fewer than two free"),
        ({"maze": ("####", "#..#", "##.#")}, "open at row 2, column 2"),
        ({"maze": ("####", "#..", "####")}, "one length"),
        ({"maze": ()}, "one length"),
        ({"size": 8}, "odd number from 5"),
        ({"size": 3}, "odd number from 5"),
        ({"view_size": 4}, "odd number from 3"),
        ({"view_size": 1}, "odd number from 3"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"size": 9.5}, "size is 9.5"),
        ({"goal_reward": float("nan")}, "goal_reward is NaN"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        MetaMazeEnv(**options)
