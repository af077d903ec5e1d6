"""What programs written for Gymnasium's environments look at."""

from __future__ import annotations

import gymnasium.envs.box2d.bipedal_walker as their_walker
import gymnasium.envs.box2d.lunar_lander as their_lander
import numpy as np
import pytest

from ludus.envs import box2d
from ludus.envs.box2d import bipedal_walker, lunar_lander
from ludus.errors import Error
from tests.envs.box2d.support import make


def test_legs_tell_whether_they_touch_the_ground():
    env = make("LunarLander-v3").unwrapped
    seen, _ = env.reset(seed=1)
    for _ in range(300):
        seen, *_, over, _, _ = env.step(lunar_lander.heuristic(env, seen))
        assert [float(leg.ground_contact) for leg in env.legs] == seen[6:].tolist()
        if over:
            break
    assert seen[6] == seen[7] == 1.0
    assert env.lander.position.y == pytest.approx(env.helipad_y, abs=1.0)
    assert len(env.moon.fixtures) == 11
    assert env.drawlist == [env.lander, *env.legs]
    assert env.legs[0].joint.bodyA == env.lander


def test_the_walker_shows_its_parts():
    env = make("BipedalWalker-v3").unwrapped
    env.reset(seed=1)
    env.step(np.zeros(4))
    assert len(env.legs) == len(env.joints) == 4
    assert env.hull.position.x > 0
    assert env.legs[1].ground_contact in (True, False)
    assert len(env.terrain) == 199
    assert env.game_over is False


def test_the_race_shows_car_and_road():
    env = make("CarRacing-v3").unwrapped
    env.reset(seed=1)
    assert len(env.car.wheels) == 4
    assert len(env.road) == len(env.track)
    assert env.tile_visited_count > 0
    assert all(wheel.omega == 0.0 for wheel in env.car.wheels)


@pytest.mark.parametrize("continuous", [False, True])
def test_the_lander_is_steered_alike(continuous):
    env = make("LunarLander-v3", continuous=continuous)
    seen, _ = env.reset(seed=2)
    for _ in range(200):
        action = lunar_lander.heuristic(env, seen)
        np.testing.assert_array_equal(action, their_lander.heuristic(env, seen))
        seen, *_, over, _, _ = env.step(action)
        if over:
            break


def test_the_demonstration_lands(capsys):
    assert lunar_lander.demo_heuristic_lander(make("LunarLander-v3"), seed=1) > 100.0
    assert "total_reward" in capsys.readouterr().out


def test_the_walker_walks_alike():
    env = make("BipedalWalker-v3")
    ours, theirs = bipedal_walker.BipedalWalkerHeuristics(), their_walker.BipedalWalkerHeuristics()
    seen, _ = env.reset(seed=3)
    phases = set()
    for _ in range(250):
        action = ours.step_heuristic(seen)
        np.testing.assert_array_equal(action, theirs.step_heuristic(seen))
        phases.add(ours.state)
        seen, *_, over, _, _ = env.step(action)
        if over:
            break
    assert phases == {1, 2, 3}


@pytest.mark.parametrize("name", ["LunarLanderContinuous", "BipedalWalkerHardcore"])
def test_names_that_only_explain(name):
    with pytest.raises(Error, match="make"):
        getattr(box2d, name)()
