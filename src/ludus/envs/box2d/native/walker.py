# mypy: disable-error-code="untyped-decorator"
"""BipedalWalker in compiled code: the same world, built and stepped without the binding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ludus.envs.box2d import walker_rules as rules
from ludus.envs.box2d.bipedal_terrain import LENGTH, SCALE, STEP, make_terrain
from ludus.envs.box2d.lidar import DIRECTIONS
from ludus.envs.box2d.native import engine
from ludus.envs.box2d.native.batch import Batch
from ludus.envs.box2d.walker_parts import TORQUE
from ludus.kernel import random as draws
from ludus.kernel.native.jit import compiled as compiled_tree
from ludus.kernel.native.numba_random import REPLACEMENTS

__all__ = ["advance", "begin"]

HARDCORE = 1
SHAPING = 0
BODY, FALLEN, LEFT, TOUCHING = 1, 4, 5, 7
GROUND, EDGE, EDGE_SHAPE, BLOCK, BLOCK_SHAPE, HULL_BODY, HULL, LIMBS, LIMB_BODIES, JOINTS = (
    *range(8),
    9,
    13,
)
CORNERS = 24
CLOUD_DRAWS = 110
GRAVITY = -10.0
SINGLE = 4

_compiled = engine.compiled
_memo = dict(REPLACEMENTS)
_make_terrain = compiled_tree(make_terrain, _memo, "_box2d", inline=False)
_uniform = REPLACEMENTS[draws.uniform]
_random = REPLACEMENTS[draws.random]
_shaping = _compiled(rules.shaping)
_RAYS = np.array(DIRECTIONS)


@_compiled
def begin(batch: Batch, i: int) -> None:
    """Build a new world in an environment that has none, and look at it."""
    world, listener, words, parts = (
        batch.worlds[i].ctypes.data,
        batch.listeners[i],
        batch.words[i],
        batch.parts[i],
    )
    engine.make_world(world, batch.rays[i].ctypes.data + 16, GRAVITY, listener.ctypes.data)
    _build_ground(batch, i)
    for _ in range(CLOUD_DRAWS):
        _random(words)
    hull = engine.create_body(world, parts[HULL_BODY])
    engine.create_fixture(hull, parts[HULL])
    engine.push_center(hull, _uniform(words, -rules.FIRST_PUSH, rules.FIRST_PUSH), 0.0)
    listener[BODY], listener[FALLEN], listener[TOUCHING] = hull, 0, 0
    above = hull
    for k in range(4):
        body = engine.create_body(world, parts[LIMB_BODIES + k])
        engine.create_fixture(body, parts[LIMBS + k % 2])
        joint = parts[JOINTS + k]
        engine.store_word(joint + engine.BODY_A, above if k % 2 else hull)
        engine.store_word(joint + engine.BODY_B, body)
        batch.joints[i, k] = engine.create_joint(world, joint)
        above = body
        if k % 2:
            listener[BODY + 1 + k // 2], listener[LEFT + k // 2] = body, 0
    batch.memo[i, SHAPING] = np.nan
    advance(batch, i, batch.idle)


@_compiled
def _build_ground(batch: Batch, i: int) -> None:
    world, parts, heights, blocks = (
        batch.worlds[i].ctypes.data,
        batch.parts[i],
        batch.heights[i],
        batch.blocks[i],
    )
    count = _make_terrain(batch.words[i], batch.options[HARDCORE] != 0.0, heights, blocks)
    shape = parts[BLOCK_SHAPE]
    for k in range(count):
        for c in range(8):
            engine.store_float(shape + CORNERS + 4 * c, np.float32(blocks[k, c]))
        engine.set_polygon(shape, shape + CORNERS, np.int32(4))
        engine.create_fixture(engine.create_body(world, parts[GROUND]), parts[BLOCK])
    edge = parts[EDGE_SHAPE]
    for k in range(LENGTH - 1):
        engine.place_edge(edge, k * STEP, heights[k], (k + 1) * STEP, heights[k + 1])
        engine.create_fixture(engine.create_body(world, parts[GROUND]), parts[EDGE])


@_compiled
def advance(batch: Batch, i: int, action: Any) -> Any:
    """Step an environment; return whether its episode has ended by itself."""
    joints = batch.joints[i]
    for k in range(4):
        number = action[k]
        sign = (1 if number > 0.0 else 0) - (1 if number < 0.0 else 0)
        engine.set_motor_speed(joints[k], np.float32(rules.SPEEDS[k] * sign))
        engine.set_motor_torque(joints[k], np.float32(TORQUE * _effort(number)))
    engine.step_world(
        batch.worlds[i].ctypes.data, np.float32(1.0 / rules.FPS), np.int32(180), np.int32(60)
    )
    hull = batch.listeners[i, BODY]
    x = np.float64(engine.load_float(hull + engine.POSITION))
    angle = np.float64(engine.load_float(hull + engine.ANGLE))
    _look(batch, i, hull, angle)
    shaping = _shaping(x, angle)
    before, batch.memo[i, SHAPING] = batch.memo[i, SHAPING], shaping
    gain = 0.0 if math.isnan(before) else shaping - before
    if batch.listeners[i, FALLEN] != 0 or x < 0.0:
        batch.rewards[i] = -100.0
        return True
    batch.rewards[i] = _less_effort(gain, action)
    return x > rules.FINISH


@_compiled
def _effort(number: float) -> float:
    return 1.0 if abs(number) > 1.0 else abs(number)


@_compiled
def _less_effort(gain: float, action: Any) -> float:
    if action[SINGLE] == 0.0:
        for k in range(4):
            gain -= rules.EFFORT * _effort(action[k])
        return gain
    rest = np.float32(gain)
    for k in range(4):
        rest = rest - np.float32(rules.EFFORT) * np.float32(_effort(action[k]))
    return np.float64(rest)


@_compiled
def _look(batch: Batch, i: int, hull: int, angle: float) -> None:
    seen, listener, joints = batch.observations[i], batch.listeners[i], batch.joints[i]
    vx = np.float64(engine.load_float(hull + engine.VELOCITY))
    vy = np.float64(engine.load_float(hull + engine.VELOCITY + 4))
    seen[0] = angle
    seen[1] = 2.0 * np.float64(engine.load_float(hull + engine.ANGULAR_VELOCITY)) / rules.FPS
    seen[2] = 0.3 * vx * (rules.VIEW_WIDTH / SCALE) / rules.FPS
    seen[3] = 0.3 * vy * (rules.VIEW_HEIGHT / SCALE) / rules.FPS
    for leg in range(2):
        hip, knee, at = joints[2 * leg], joints[2 * leg + 1], 4 + 5 * leg
        seen[at] = engine.joint_angle(hip)
        seen[at + 1] = np.float64(engine.joint_speed(hip)) / rules.HIP
        seen[at + 2] = np.float64(engine.joint_angle(knee)) + 1.0
        seen[at + 3] = np.float64(engine.joint_speed(knee)) / rules.KNEE
        seen[at + 4] = listener[LEFT + leg]
    ray = batch.rays[i].ctypes.data
    x, y = engine.load_float(hull + engine.POSITION), engine.load_float(hull + engine.POSITION + 4)
    start, end = ray + 16, ray + 24
    engine.store_float(start, x)
    engine.store_float(start + 4, y)
    for k in range(len(_RAYS)):
        engine.store_float(end, np.float32(np.float64(x) + _RAYS[k, 0]))
        engine.store_float(end + 4, np.float32(np.float64(y) - _RAYS[k, 1]))
        engine.store_float(ray + 8, np.float32(1.0))
        engine.cast_ray(batch.worlds[i].ctypes.data, ray, start, end)
        seen[14 + k] = engine.load_float(ray + 8)
