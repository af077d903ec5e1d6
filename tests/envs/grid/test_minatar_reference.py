"""The MinAtar games beside the original: same draws and actions, same observations and rewards.

The original draws from a RandomState; here it is given the stream that Ludus draws from.
"""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

from ludus.envs.grid.minatar import UP
from ludus.seeding import np_random
from tests.envs.foreign import Draws

minatar = pytest.importorskip("minatar")

GAMES = {
    "asterix": "AsterixEnv",
    "breakout": "BreakoutEnv",
    "freeway": "FreewayEnv",
    "seaquest": "SeaquestEnv",
    "space_invaders": "SpaceInvadersEnv",
}


def pair(game, seed, **options):
    ours = getattr(importlib.import_module("ludus.envs.grid"), GAMES[game])(**options)
    theirs = minatar.Environment(
        game,
        sticky_action_prob=options.get("sticky_action_prob", 0.1),
        difficulty_ramping=options.get("difficulty_ramping", True),
    )
    theirs.random = theirs.env.random = Draws(np_random(seed)[0])
    observation, info = ours.reset(seed=seed)
    theirs.reset()
    assert info == {}
    assert observation.dtype == bool
    np.testing.assert_array_equal(observation, theirs.state())
    return ours, theirs


def safe_actions(theirs, count):
    """Return the actions after which the game goes on, or all if there are none."""
    safe = []
    for action in range(count):
        trial = copy.deepcopy(theirs)
        if not trial.act(action)[1]:
            safe.append(action)
    return safe or list(range(count))


def assert_alike(ours, theirs, actions):
    """Step both through the actions, which may be a function of the original; count rewards."""
    total = 0
    for action in actions:
        action = action(theirs) if callable(action) else action
        observation, reward, terminated, truncated, info = ours.step(action)
        expected, over = theirs.act(int(ours.params.actions[action]))
        np.testing.assert_array_equal(observation, theirs.state())
        assert (reward, terminated, truncated, info) == (float(expected), over, False, {})
        total += reward
        if over:
            # Over, nothing moves; the next reset goes on with the same stream and last action.
            again = ours.step(0)
            assert theirs.act(0) == (0, True)
            np.testing.assert_array_equal(again[0], theirs.state())
            assert again[1:3] == (0.0, True)
            observation, _ = ours.reset()
            theirs.reset()
            np.testing.assert_array_equal(observation, theirs.state())
    return total


@pytest.mark.parametrize("minimal", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_random_play_equals_the_originals(game, minimal):
    ours, theirs = pair(game, 5, use_minimal_action_set=minimal)
    if minimal:
        assert list(ours.params.actions) == theirs.minimal_action_set()
    assert ours.observation_space.shape == tuple(theirs.state_shape())
    actions = np.random.default_rng(1).integers(0, ours.action_space.n, 3000)
    assert_alike(ours, theirs, actions.tolist())


@pytest.mark.parametrize("options", [{"sticky_action_prob": 0.0}, {"difficulty_ramping": False}])
@pytest.mark.parametrize("game", GAMES)
def test_long_games_equal_the_originals(game, options):
    ours, theirs = pair(game, 11, **options)
    choice = np.random.default_rng(2)

    def careful(reference):
        if game == "freeway":
            return int(choice.choice([0, UP, UP, UP]))
        return int(choice.choice(safe_actions(reference, 6)))

    total = assert_alike(ours, theirs, [careful] * 1500)
    assert total > 0


def plant_seaquest(rng, ours, theirs):
    """Put many things close together."""

    def some(count, *ranges):
        rows = rng.integers([low for low, _ in ranges], [high for _, high in ranges], (count, 5))
        return rows[np.argsort(rng.random(count))].tolist()

    game = theirs.env
    place, row, way, wait, none = (2, 8), (3, 5), (0, 2), (0, 3), (0, 1)
    lists = [
        some(rng.integers(0, 3), place, row, way, none, none),
        some(rng.integers(0, 6), place, row, way, none, none),
        some(rng.integers(0, 16), place, row, way, wait, none),
        some(rng.integers(0, 16), place, row, way, wait, wait),
        some(rng.integers(0, 6), place, row, way, wait, none),
    ]
    names = ("f_bullets", "e_bullets", "e_fish", "e_subs", "divers")
    lengths = (3, 3, 4, 5, 4)
    things, counts = np.zeros((5, 64, 5), np.int64), np.zeros(5, np.int64)
    for kind, (name, rows, length) in enumerate(zip(names, lists, lengths, strict=True)):
        counts[kind] = len(rows)
        things[kind, : len(rows)] = np.reshape(rows, (-1, 5))
        setattr(game, name, [[x, y, bool(right), *rest][:length] for x, y, right, *rest in rows])
    game.e_spawn_speed = game.e_spawn_timer = int(rng.integers(1, 20))
    game.move_speed = int(rng.integers(2, 4))
    game.diver_count = int(rng.integers(-1, 7))
    game.oxygen = int(rng.integers(0, 201))
    game.sub_y, game.surface = int(rng.choice([1, 2, 7, 8])), False
    game.ramp_index = int(rng.integers(0, 5))
    ours.state = ours.state._replace(
        y=game.sub_y,
        surfaced=False,
        oxygen=game.oxygen,
        crew=game.diver_count,
        spawn_interval=game.e_spawn_speed,
        spawn_timer=game.e_spawn_timer,
        move_interval=game.move_speed,
        ramps=game.ramp_index,
        things=things,
        counts=counts,
    )


def plant_space_invaders(rng, ours, theirs):
    game = theirs.env
    maps = [rng.random((10, 10)) < share for share in rng.choice([0.01, 0.1, 0.5], 3)]
    maps[0][int(rng.integers(0, 10)), int(rng.integers(0, 10))] = True
    game.alien_map, game.f_bullet_map, game.e_bullet_map = (m.astype(float) for m in maps)
    game.f_bullet_map[9] = maps[1][9] = 0
    game.alien_dir = int(rng.choice([-1, 1]))
    game.enemy_move_interval = int(rng.integers(6, 13))
    game.alien_move_timer, game.alien_shot_timer = (int(rng.integers(0, 3)) for _ in range(2))
    ours.state = ours.state._replace(
        heading=game.alien_dir,
        alive=int(maps[0].sum()),
        interval=game.enemy_move_interval,
        move_timer=game.alien_move_timer,
        bomb_timer=game.alien_shot_timer,
        aliens=maps[0],
        shots=maps[1],
        bombs=maps[2],
    )


def plant_breakout(rng, ours, theirs):
    game = theirs.env
    bricks = rng.random((3, 10)) < rng.choice([0.0, 0.1, 0.5, 0.9])
    game.brick_map[1:4] = bricks
    game.ball_x, game.ball_y = int(rng.integers(0, 10)), int(rng.integers(0, 9))
    game.ball_dir = int(rng.integers(0, 4))
    game.strike = bool(rng.integers(0, 2))
    ours.state = ours.state._replace(
        x=game.ball_x,
        y=game.ball_y,
        dx=(-1, 1, 1, -1)[game.ball_dir],
        dy=(-1, -1, 1, 1)[game.ball_dir],
        struck=game.strike,
        left=int(bricks.sum()),
        bricks=bricks,
    )


def plant_asterix(rng, ours, theirs):
    game = theirs.env
    columns = rng.integers(-1, 10, 8)
    rightward, gold = (rng.integers(0, 2, 8).astype(bool) for _ in range(2))
    game.entities = [
        None if x < 0 else [int(x), lane + 1, bool(rightward[lane]), bool(gold[lane])]
        for lane, x in enumerate(columns)
    ]
    game.spawn_speed, game.move_speed = int(rng.integers(1, 11)), int(rng.integers(1, 6))
    game.spawn_timer, game.move_timer, game.ramp_timer = (int(n) for n in rng.integers(0, 3, 3))
    game.ramp_index = int(rng.integers(0, 4))
    ours.state = ours.state._replace(
        spawn_interval=game.spawn_speed,
        move_interval=game.move_speed,
        spawn_timer=game.spawn_timer,
        move_timer=game.move_timer,
        ramp_timer=game.ramp_timer,
        ramps=game.ramp_index,
        columns=columns,
        rightward=rightward,
        gold=gold,
    )


def plant_freeway(rng, ours, theirs):
    game = theirs.env
    columns, waits = rng.integers(0, 10, 8), rng.integers(0, 3, 8)
    speeds = rng.integers(1, 6, 8) * rng.choice([-1, 1], 8)
    game.cars = [
        [int(columns[lane]), lane + 1, int(waits[lane]), int(speeds[lane])] for lane in range(8)
    ]
    game.pos, game.move_timer = int(rng.integers(1, 10)), int(rng.integers(0, 4))
    game.terminate_timer = int(rng.integers(0, 100))
    ours.state = ours.state._replace(
        y=game.pos,
        rest=game.move_timer,
        time_left=game.terminate_timer,
        columns=columns,
        waits=waits,
        speeds=speeds,
    )


@pytest.mark.parametrize("game", GAMES)
def test_from_any_position_play_equals_the_originals(game):
    ours, theirs = pair(game, 3, sticky_action_prob=0.3)
    rng = np.random.default_rng(4)
    for _ in range(300):
        globals()[f"plant_{game}"](rng, ours, theirs)
        assert_alike(ours, theirs, rng.integers(0, 6, 12).tolist())
