"""What all mazes share: specs, and how they are shown."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from ludus.envs.grid import CrossingEnv, EmptyRoomEnv, FourRoomsEnv, MetaMazeEnv
from ludus.envs.grid.maze_drawing import BODY, EMBERS, FLOOR, GREEN
from ludus.envs.grid.registration import MAZES
from ludus.registration import make, make_vec

LIMITS = {
    "FourRooms-v0": 500,
    "FourRoomsVisual-v0": 500,
    "MetaMaze-v0": 200,
    "Maze/Empty-5x5-v0": 100,
    "Maze/Empty-6x6-v0": 144,
    "Maze/Empty-8x8-v0": 256,
    "Maze/Empty-16x16-v0": 1024,
    "Maze/EmptyRandom-5x5-v0": 100,
    "Maze/EmptyRandom-6x6-v0": 144,
    "Maze/SimpleCrossing-9x9-v0": 324,
    "Maze/SimpleCrossing-11x11-v0": 484,
    "Maze/LavaCrossing-9x9-v0": 324,
    "Maze/LavaCrossing-11x11-v0": 484,
}
TEXT = """\
#####
#v..#
#...#
#..G#
#####
"""


def test_specs():
    assert {spec.id: spec.max_episode_steps for spec in MAZES} == LIMITS
    assert all(spec.family == "grid" and spec.description for spec in MAZES)
    assert all("maze" in spec.tags for spec in MAZES)


@pytest.mark.parametrize("spec", MAZES, ids=lambda spec: spec.id)
def test_made_by_id(spec):
    env, venv = make(spec), make_vec(spec, num_envs=2)
    assert venv.single_observation_space == env.observation_space
    assert type(env.unwrapped) is type(venv.env)
    assert env.reset(seed=1)[0] in env.observation_space
    venv.close()


@pytest.mark.parametrize("spec", MAZES, ids=lambda spec: spec.id)
def test_pictures(spec):
    env = make(spec, render_mode="rgb_array")
    assert env.unwrapped.render() is None
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8
    assert 256 <= picture.shape[0] == picture.shape[1] <= 416
    colours = {tuple(colour) for colour in np.unique(picture.reshape(-1, 3), axis=0).tolist()}
    assert {FLOOR, BODY} <= colours
    env.close()


def cells_with(picture, colour, side):
    """Return the cells of a picture in which a colour is found."""
    return {tuple(cell) for cell in (np.argwhere((picture == colour).all(axis=2)) // side).tolist()}


def test_pictures_stand_upright():
    env = EmptyRoomEnv(size=5, start=(1, 2), render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert cells_with(picture, BODY, 64) == {(1, 2)}
    assert cells_with(picture, GREEN, 64) == {(3, 3)}
    body = np.argwhere((picture == BODY).all(axis=2))
    tip, back = (np.ptp(body[body[:, 1] == k][:, 0]) for k in (body[:, 1].max(), body[:, 1].min()))
    assert tip < back
    env.close()


def test_what_is_out_of_sight_is_darker():
    env = CrossingEnv(obstacle="lava", render_mode="rgb_array")
    env.reset(seed=0)
    assert cells_with(env.render(), EMBERS, 46)
    for _ in range(2):
        env.step(0)
    assert (env.state.cells == 9).any()
    assert not cells_with(env.render(), EMBERS, 46)
    env.close()


def test_text():
    env = EmptyRoomEnv(size=5, direction=1, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == TEXT
    env = FourRoomsEnv(render_mode="ansi")
    env.reset(seed=0)
    lines = env.render().splitlines()
    assert (lines[4][1], lines[8][9]) == ("A", "G")
    env = MetaMazeEnv(render_mode="ansi")
    env.reset(seed=0)
    assert env.render().count("A") == env.render().count("G") == 1
    env = CrossingEnv(render_mode="ansi")
    env.reset(seed=0)
    assert env.render().count("~") == 6


def test_windows(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = EmptyRoomEnv(size=4, render_mode="human")
    env.reset(seed=0)
    assert env.step(0)[1] == 0.0
    assert env.render() is None
    env.close()


def test_copies_leave_the_screen_behind():
    env = MetaMazeEnv(render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    twin = copy.deepcopy(env)
    np.testing.assert_array_equal(twin.render(), picture)
    env.close()
    twin.close()


def test_without_a_mode_render_warns():
    env = FourRoomsEnv()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None
