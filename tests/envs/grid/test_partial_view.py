"""Mazes seen from inside: whole episodes as Minigrid 3.2.0 plays them, and their own options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludus.envs.grid import CrossingEnv, EmptyRoomEnv
from ludus.envs.grid.partial_view import ALL_BITS, FORWARD, LEFT, RIGHT, spread
from ludus.errors import StateError
from ludus.registration import make

EPISODES = json.loads(Path(__file__).with_name("minigrid_facts.json").read_text())
NAMES = [" ".join(map(str, (e["id"], *e["kwargs"].values(), e["seed"]))) for e in EPISODES]
WALL, GOAL, LAVA = 2, 8, 9
AHEAD = ((0, 1), (1, 0), (0, -1), (-1, 0))


def check_view(seen, view, direction):
    """Compare with Minigrid's image, which shows nothing at the agent's place."""
    assert seen[3, 6].tolist() == [10, 0, int(direction)]
    kinds = np.array(list(map(int, view))).reshape(7, 7)
    seen = seen.copy()
    seen[3, 6] = (1, 0, 0)
    np.testing.assert_array_equal(seen[:, :, 0], kinds)
    colours = np.select([kinds == WALL, kinds == GOAL], [5, 1], 0)
    np.testing.assert_array_equal(seen[:, :, 1], colours)
    assert not seen[:, :, 2].any()


@pytest.mark.parametrize("episode", EPISODES, ids=NAMES)
def test_a_seed_and_actions_give_minigrids_episode(episode):
    env = make(episode["id"], **episode["kwargs"])
    assert env.spec.max_episode_steps == env.unwrapped.params.max_steps == episode["limit"]
    seen, info = env.reset(seed=episode["seed"])
    assert info == {}
    cells = ["".join(map(str, row)) for row in env.unwrapped.state.cells.tolist()]
    assert cells == episode["cells"]
    check_view(seen, episode["views"][0], episode["directions"][0])
    last = len(episode["actions"]) - 1
    for k, action in enumerate(episode["actions"]):
        seen, reward, terminated, truncated, info = env.step(int(action))
        check_view(seen, episode["views"][k + 1], episode["directions"][k + 1])
        state = env.unwrapped.state
        assert (state.row, state.column) == (episode["rows"][k], episode["columns"][k])
        expected = (episode["reward"], episode["terminated"]) if k == last else (0.0, False)
        assert (reward, terminated) == expected
        assert (truncated, info) == (False, {})


def test_the_episodes_show_what_matters():
    endings = {(e["id"].split("-")[0], e["terminated"], e["reward"] > 0) for e in EPISODES}
    assert ("Maze/LavaCrossing", True, False) in endings
    assert ("Maze/LavaCrossing", True, True) in endings
    assert ("Maze/SimpleCrossing", True, True) in endings
    kinds = {kind for e in EPISODES for view in e["views"] for kind in view}
    assert kinds == set("01289")


def spread_cell_by_cell(lit, clear):
    """The rule in words: cells light the next one and the two ahead, going right, then left."""
    ahead = 0
    for k in range(6):
        if (lit & clear) >> k & 1:
            lit |= 2 << k
            ahead |= 3 << k
    for k in range(6, 0, -1):
        if (lit & clear) >> k & 1:
            lit |= 1 << (k - 1)
            ahead |= 3 << (k - 1)
    return lit, ahead


def test_sight_spreads_cell_by_cell():
    for lit in range(ALL_BITS + 1):
        for clear in range(ALL_BITS + 1):
            assert spread(lit, clear) == spread_cell_by_cell(lit, clear), (lit, clear)


@pytest.mark.parametrize("obstacle", ["wall", "lava"])
@pytest.mark.parametrize(("size", "crossings"), [(5, 1), (5, 2), (7, 3), (9, 6), (13, 9), (19, 16)])
def test_there_is_always_a_way(size, crossings, obstacle):
    venv = CrossingEnv.vector(40, size=size, crossings=crossings, obstacle=obstacle)
    venv.reset(seed=1)
    for cells in venv._storage.columns()["cells"]:
        border = np.concatenate([cells[0], cells[-1], cells[:, 0], cells[:, -1]])
        assert set(border.tolist()) == {WALL}
        assert cells[-2, -2] == GOAL
        filled = np.isin(cells, (WALL, LAVA))
        lines = [filled[1:-1, k].sum() for k in range(2, size - 2, 2)]
        lines += [filled[k, 1:-1].sum() for k in range(2, size - 2, 2)]
        assert sum(line >= size - 3 - crossings for line in lines) >= crossings
        reached, todo = set(), [(1, 1)]
        while todo:
            cell = todo.pop()
            if cell not in reached and not filled[cell]:
                reached.add(cell)
                todo += [(cell[0] + down, cell[1] + right) for down, right in AHEAD]
        assert (size - 2, size - 2) in reached


# From 261 on there are more rivers than a byte counts.
@pytest.mark.parametrize(("size", "kind"), [(259, np.uint8), (261, np.uint16), (301, np.uint16)])
def test_large_mazes(size, kind, monkeypatch):
    monkeypatch.setenv("LUDUS_JIT", "0")
    places = (size - 3) // 2
    env = CrossingEnv(size=size, crossings=5, obstacle="lava")
    found = set()
    for seed in range(12):
        env.reset(seed=seed)
        cells = env.state.cells
        assert cells.dtype == kind
        order = list(range(2 * places))
        np.random.default_rng(seed).shuffle(order)
        expected = sorted(order[:5])
        lava = cells == LAVA
        columns = [k for k in range(places) if lava[1:-1, 2 + 2 * k].sum() > 6]
        rows = [k + places for k in range(places) if lava[2 + 2 * k, 1:-1].sum() > 6]
        assert columns + rows == expected
        found |= set(expected)
    assert max(found) > 240


def test_a_large_maze_full_of_rivers(monkeypatch):
    size = 261
    compiled = CrossingEnv(size=size, crossings=size - 3, obstacle="wall")
    monkeypatch.setenv("LUDUS_JIT", "0")
    plain = CrossingEnv(size=size, crossings=size - 3, obstacle="wall")
    compiled.reset(seed=2)
    plain.reset(seed=2)
    cells = plain.state.cells
    np.testing.assert_array_equal(cells, compiled.state.cells)
    inside = cells[1:-1, 1:-1]
    rooms = (size - 1) // 2
    openings = size - 3
    assert np.count_nonzero(inside == WALL) == (size - 2) ** 2 - rooms**2 - openings
    for _ in range(3):
        assert plain.step(FORWARD)[1:] == compiled.step(FORWARD)[1:]


def test_mazes_differ_between_episodes():
    env = make("Maze/SimpleCrossing-9x9-v0")
    env.reset(seed=0)
    mazes = set()
    for _ in range(40):
        env.reset()
        mazes.add(env.unwrapped.state.cells.tobytes())
    assert len(mazes) > 20


def test_drawn_starts_are_everywhere_but_at_the_goal():
    venv = EmptyRoomEnv.vector(2000, size=5, start=None)
    venv.reset(seed=0)
    columns = venv._storage.columns()
    names = ("row", "column", "direction")
    starts = set(zip(*(columns[name].tolist() for name in names), strict=True))
    inside = [(row, column) for row in (1, 2, 3) for column in (1, 2, 3)]
    free = [cell for cell in inside if cell != (3, 3)]
    assert starts == {(*cell, direction) for cell in free for direction in range(4)}


def test_turning_walking_and_bumping():
    env = EmptyRoomEnv(size=5, start=(2, 2), direction=3)
    env.reset(seed=0)
    places = []
    for action in (LEFT, FORWARD, FORWARD, RIGHT, FORWARD, RIGHT, RIGHT, RIGHT, RIGHT, 3, 4, 5, 6):
        env.step(action)
        places.append((env.state.row, env.state.column, env.state.direction))
    assert places[:4] == [(2, 2, 2), (2, 1, 2), (2, 1, 2), (2, 1, 3)]
    assert places[4:8] == [(1, 1, 3), (1, 1, 0), (1, 1, 1), (1, 1, 2)]
    assert places[8:] == [(1, 1, 3)] * 5
    assert env.state.steps == 13


def test_the_reward_shrinks_with_the_steps():
    for steps, pay in ((0, 1 - 0.9 * (1 / 100)), (99, 1 - 0.9 * (100 / 100))):
        env = EmptyRoomEnv(size=5, start=(3, 2))
        env.reset(seed=0)
        env.state = env.state._replace(steps=steps)
        assert env.step(FORWARD)[1:3] == (pay, True)
    env = EmptyRoomEnv(size=5, start=(3, 2), max_steps=10)
    env.reset(seed=0)
    assert env.step(FORWARD)[1] == 1 - 0.9 * (1 / 10)


def test_time_limit():
    env = make("Maze/Empty-5x5-v0")
    env.reset(seed=0)
    assert [env.step(LEFT)[3] for _ in range(100)].index(True) == 99


@pytest.mark.parametrize("place", [10**9, -(10**9)])
def test_a_state_from_outside_cannot_reach_other_memory(place):
    env = EmptyRoomEnv()
    env.reset(seed=0)
    with pytest.raises(StateError):
        env.state = env.state._replace(row=place)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (EmptyRoomEnv, {"size": 3}, "4 or more"),
        (EmptyRoomEnv, {"direction": 4}, "0 to 3"),
        (EmptyRoomEnv, {"start": (0, 1)}, "inside the walls"),
        (EmptyRoomEnv, {"start": (1, 7)}, "inside the walls"),
        (EmptyRoomEnv, {"start": (6, 6)}, "other than the goal's"),
        (EmptyRoomEnv, {"start": (1, 1, 1)}, "inside the walls"),
        (EmptyRoomEnv, {"max_steps": 0}, "max_steps is 0"),
        (CrossingEnv, {"size": 8}, "odd number from 5"),
        (CrossingEnv, {"crossings": 0}, "crossings is 0"),
        (EmptyRoomEnv, {"size": 5.5}, "size is 5.5"),
        (CrossingEnv, {"crossings": 7}, "place for 1 to 6"),
        (CrossingEnv, {"obstacle": "water"}, "wall, lava"),
    ],
)
def test_bad_arguments(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options)
