"""The walker's lidar beside rays cast through the whole world."""

from __future__ import annotations

import Box2D
import numpy as np
import pytest

from ludus.envs.box2d.lidar import DIRECTIONS
from tests.envs.box2d.support import make


class Nearest(Box2D.b2RayCastCallback):
    fraction = 1.0

    def ReportFixture(self, fixture, point, normal, fraction):
        if not fixture.filterData.categoryBits & 1:
            return -1
        self.fraction = fraction
        return fraction


def through_the_world(world, place):
    fractions = []
    for dx, dy in DIRECTIONS:
        ray = Nearest()
        world.RayCast(ray, place, (place[0] + dx, place[1] - dy))
        fractions.append(ray.fraction)
    return fractions


@pytest.mark.parametrize("env_id", ["BipedalWalker-v3", "BipedalWalkerHardcore-v3"])
def test_rays_equal_those_of_the_world(env_id):
    env = make(env_id).unwrapped
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(3):
        env.reset(seed=seed)
        heights = env._ground.heights
        for number in range(250):
            column = rng.integers(0, 200)
            # Half of them right above where two pieces of the ground join.
            x = column * 14 / 30 + (0.0 if number % 2 else rng.uniform(-0.5, 0.5))
            place = Box2D.b2Vec2(x, heights[column] + rng.uniform(-1.0, 4.0))
            expected = through_the_world(env.world, place)
            assert env._lidar.cast(place) == expected
            hits += sum(fraction < 1.0 for fraction in expected)
    assert hits > 3000
