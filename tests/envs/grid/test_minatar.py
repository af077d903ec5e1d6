"""The MinAtar games: specs, rules, options, rendering, and many at once."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.envs.grid import AsterixEnv, BreakoutEnv, FreewayEnv, SeaquestEnv, SpaceInvadersEnv
from ludus.envs.grid.minatar import DOWN, FIRE, LEFT, RIGHT, UP
from ludus.envs.grid.registration import SPECS as GRID_SPECS
from ludus.errors import InvalidAction
from ludus.registration import make, make_vec

SPECS = [spec for spec in GRID_SPECS if spec.id.startswith("MinAtar/")]
KINDS = {
    "Asterix": (AsterixEnv, 4, 5),
    "Breakout": (BreakoutEnv, 4, 3),
    "Freeway": (FreewayEnv, 7, 3),
    "Seaquest": (SeaquestEnv, 10, 6),
    "SpaceInvaders": (SpaceInvadersEnv, 6, 4),
}
CLASSES = [row[0] for row in KINDS.values()]


def start(kind, **fields):
    """Return a game without chance in its actions, its state changed."""
    env = kind(sticky_action_prob=0.0)
    env.reset(seed=0)
    env.state = env.state._replace(**fields)
    return env


@pytest.mark.filterwarnings("ignore:.*out of date")
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_specs(spec):
    name, version = spec.id.removeprefix("MinAtar/").split("-v")
    kind, channels, actions = KINDS[name]
    env = make(spec)
    assert type(env.unwrapped) is kind
    assert env.observation_space.shape == (10, 10, channels)
    assert env.observation_space.dtype == bool
    assert env.action_space.n == (6 if version == "0" else actions)
    assert spec.max_episode_steps is None
    assert spec.family == "grid"
    assert spec.description
    assert env.unwrapped.params.sticky == 0.1
    assert env.unwrapped.params.ramping


def test_every_game_has_two_versions():
    names = [f"MinAtar/{name}-v{version}" for name in KINDS for version in (0, 1)]
    assert [spec.id for spec in SPECS] == names


@pytest.mark.parametrize("kind", CLASSES)
def test_always_sticky_repeats_the_first_action(kind):
    one, two = kind(sticky_action_prob=1.0), kind(sticky_action_prob=1.0)
    one.reset(seed=3)
    two.reset(seed=3)
    for action in (LEFT, UP, RIGHT, DOWN, FIRE):
        assert np.array_equal(one.step(action)[0], two.step(0)[0])
    assert one.state.last_action == 0


def test_a_sticking_action_survives_a_reset():
    env = BreakoutEnv(sticky_action_prob=0.0)
    env.reset(seed=0)
    env.step(LEFT)
    env.reset(seed=0)
    assert env.state.last_action == LEFT


def test_breakout_breaks_a_brick_and_turns():
    env = start(BreakoutEnv, x=4, y=4, dx=1, dy=-1)
    observation, reward, terminated, _, _ = env.step(0)
    assert (reward, terminated) == (1.0, False)
    assert (env.state.x, env.state.y, env.state.dy, env.state.left) == (5, 4, 1, 29)
    assert not observation[3, 5, 3]
    assert observation[:, :, 3].sum() == 29


def test_breakout_paddle_from_above_and_from_the_side():
    env = start(BreakoutEnv, x=4, y=8, dx=1, dy=1, paddle=4)
    env.step(0)
    assert (env.state.dx, env.state.dy, env.state.x, env.state.y) == (1, -1, 5, 8)
    env = start(BreakoutEnv, x=4, y=8, dx=1, dy=1, paddle=5)
    env.step(0)
    assert (env.state.dx, env.state.dy, env.state.x, env.state.y) == (-1, -1, 5, 8)
    env = start(BreakoutEnv, x=4, y=8, dx=1, dy=1, paddle=9)
    assert env.step(0)[2]


def test_breakout_lays_new_bricks_at_the_bottom():
    env = start(BreakoutEnv, x=4, y=8, dx=1, dy=1, left=0, bricks=np.zeros((3, 10), bool))
    assert env.step(0)[0][:, :, 3].sum() == 30


def test_space_invaders_shot_hits():
    env = start(SpaceInvadersEnv, cannon=5)
    rewards = [env.step(FIRE if step == 0 else 0)[1] for step in range(7)]
    assert sum(rewards) == 1.0
    assert env.state.alive == 23


def test_space_invaders_new_waves_are_faster_with_ramping():
    for ramping, interval in ((True, 11), (False, 12)):
        env = SpaceInvadersEnv(sticky_action_prob=0.0, difficulty_ramping=ramping)
        env.reset(seed=0)
        aliens, shots = np.zeros((2, 10, 10), bool)
        aliens[3, 3] = shots[4, 3] = True
        env.state = env.state._replace(aliens=aliens, shots=shots, alive=1)
        assert env.step(0)[1] == 1.0
        assert (env.state.alive, env.state.interval) == (24, interval)


def test_space_invaders_ends_at_the_bottom_row():
    aliens = np.zeros((10, 10), bool)
    aliens[9, 0] = True
    env = start(SpaceInvadersEnv, aliens=aliens, alive=1, move_timer=0, cannon=7)
    assert env.step(0)[2]


def test_asterix_gold_and_enemies():
    for gold in (True, False):
        columns = np.full(8, -1)
        columns[4] = 6
        env = start(AsterixEnv, columns=columns, gold=np.full(8, gold))
        _, reward, terminated, _, _ = env.step(RIGHT)
        assert (reward, terminated) == ((1.0, False) if gold else (0.0, True))


def test_asterix_full_lanes_spawn_nothing():
    env = start(AsterixEnv, columns=np.full(8, 9), spawn_timer=0)
    before = env.state.columns
    env.step(0)
    np.testing.assert_array_equal(env.state.columns, before)


def test_freeway_lasts_2501_steps():
    env = FreewayEnv()
    env.reset(seed=0)
    assert not any(env.step(0)[2] for _ in range(2500))
    assert env.step(0)[2]


def test_freeway_arrival_and_collision():
    env = start(FreewayEnv, y=1, rest=0, columns=np.zeros(8, int))
    assert env.step(UP)[1] == 1.0
    assert env.state.y == 9
    columns = np.zeros(8, int)
    columns[3] = 4
    env = start(FreewayEnv, y=5, rest=0, columns=columns)
    assert env.step(UP)[1] == 0.0
    assert env.state.y == 9


def test_seaquest_surfacing():
    assert start(SeaquestEnv, y=1, surfaced=False).step(UP)[2]
    env = start(SeaquestEnv, y=1, surfaced=False, crew=3, oxygen=50)
    assert env.step(UP)[1:3] == (0.0, False)
    assert (env.state.crew, env.state.oxygen, env.state.spawn_interval) == (2, 200, 19)
    env = start(SeaquestEnv, y=1, surfaced=False, crew=6, oxygen=119)
    assert env.step(UP)[1:3] == (5.0, False)
    assert (env.state.crew, env.state.oxygen) == (-1, 200)


def test_seaquest_air_runs_out():
    env = start(SeaquestEnv, y=3, surfaced=False, oxygen=1)
    assert not env.step(0)[2]
    assert env.step(0)[2]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_game_that_is_over_stays_so(kind):
    env = kind()
    env.reset(seed=1)
    env.state = env.state._replace(over=True)
    before, _, _, _, _ = env.step(0)
    for _ in range(5):
        observation, reward, terminated, _, _ = env.step(LEFT)
        np.testing.assert_array_equal(observation, before)
        assert (reward, terminated) == (0.0, True)


@pytest.mark.parametrize("kind", CLASSES)
def test_many_at_once_equal_one_by_one(kind):
    spec = next(s for s in SPECS if s.entry_point.endswith(kind.__name__) and s.version == 1)
    venv, singles = make_vec(spec, num_envs=3), [make(spec) for _ in range(3)]
    seen, _ = venv.reset(seed=4)
    for i, env in enumerate(singles):
        np.testing.assert_array_equal(seen[i], env.reset(seed=4 + i)[0])
    rng = np.random.default_rng(0)
    done = [False] * 3
    for _ in range(300):
        actions = rng.integers(0, singles[0].action_space.n, 3)
        seen, rewards, terminated, _, _ = venv.step(actions)
        for i, env in enumerate(singles):
            if done[i]:
                expected, reward, over = env.reset()[0], 0.0, False
            else:
                expected, reward, over, _, _ = env.step(int(actions[i]))
            np.testing.assert_array_equal(seen[i], expected)
            assert (rewards[i], terminated[i]) == (reward, over)
            done[i] = over
    venv.close()


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_bad_stickiness(value):
    with pytest.raises(ValueError, match="sticky_action_prob is (a probability|NaN)"):
        BreakoutEnv(sticky_action_prob=value)


def test_bad_actions():
    env = BreakoutEnv(use_minimal_action_set=True)
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step(3)


@pytest.mark.parametrize("kind", CLASSES)
def test_pictures(kind):
    env = kind(render_mode="rgb_array")
    assert env.render() is None
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (320, 320, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) >= 3
    env.close()


def test_pictures_stand_upright():
    env = BreakoutEnv(render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    paddle = np.argwhere((picture == (250, 222, 90)).all(axis=2))
    assert (paddle.min(axis=0) // 32).tolist() == (paddle.max(axis=0) // 32).tolist() == [9, 4]
    env.close()


def test_array_and_text():
    env = BreakoutEnv(render_mode="array")
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(env.render(), observation)
    env = BreakoutEnv(render_mode="ansi")
    env.reset(seed=0)
    env.state = env.state._replace(x=0, y=4, trail_x=1, trail_y=5)
    rows = [".........."] + ["##########"] * 3 + ["o.........", ".-........"]
    rows += [".........."] * 3 + ["....=....."]
    assert env.render() == "\n".join(rows) + "\n"


def test_without_a_mode_render_warns():
    env = BreakoutEnv()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None
