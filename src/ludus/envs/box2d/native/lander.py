# mypy: disable-error-code="untyped-decorator"
"""LunarLander in compiled code: the same world, built and stepped without the binding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ludus.envs.box2d import lander_rules as rules
from ludus.envs.box2d.native import engine
from ludus.envs.box2d.native.batch import Batch
from ludus.envs.box2d.native.joints import JOINTS as JOINTS_OF
from ludus.envs.box2d.native.joints import TO_SKIP, TOUCHING, USER_DATA
from ludus.kernel import random as draws
from ludus.kernel.native.numba_random import REPLACEMENTS

__all__ = ["advance", "begin"]

GRAVITY, CONTINUOUS, WIND, WIND_POWER, TURBULENCE_POWER = range(1, 6)
SHAPING, WIND_INDEX, TORQUE_INDEX = range(3)
BODY, FALLEN, LEFT, RIGHT = 1, 4, 5, 6
JOINT_TABLE = 11
GROUND, FLOOR, RIDGE, EDGE, HULL_BODY, HULL, LEG, LEG_BODIES, JOINTS = *range(8), 9

_compiled = engine.compiled
_uniform = REPLACEMENTS[draws.uniform]
_integers = REPLACEMENTS[draws.integers]
_throttles = _compiled(rules.throttles)
_main_flame = _compiled(rules.main_flame)
_side_flame = _compiled(rules.side_flame)
_gust = _compiled(rules.gust)
_smooth = _compiled(rules.smooth)
_sense = _compiled(rules.sense)
_shaping = _compiled(rules.shaping)
_PIECE = rules.WORLD_WIDTH / (rules.CHUNKS - 1)
_MIDDLE = rules.CHUNKS // 2


@_compiled
def begin(batch: Batch, i: int) -> None:
    """Build a new world in an environment that has none, and look at it."""
    world, listener, words = batch.worlds[i].ctypes.data, batch.listeners[i], batch.words[i]
    parts = batch.parts[i]
    engine.make_world(
        world, batch.rays[i].ctypes.data + 16, batch.options[GRAVITY], listener.ctypes.data
    )
    moon = engine.create_body(world, parts[GROUND])
    engine.create_fixture(moon, parts[FLOOR])
    _build_ridge(words, batch.heights[i], moon, parts[RIDGE], parts[EDGE])
    lander = engine.create_body(world, parts[HULL_BODY])
    engine.create_fixture(lander, parts[HULL])
    push_x = _uniform(words, -rules.FIRST_PUSH, rules.FIRST_PUSH)
    push_y = _uniform(words, -rules.FIRST_PUSH, rules.FIRST_PUSH)
    engine.push_center(lander, push_x, push_y)
    memo = batch.memo[i]
    if batch.options[WIND] != 0.0:
        memo[WIND_INDEX] = _integers(words, -rules.WIND_RANGE, rules.WIND_RANGE)
        memo[TORQUE_INDEX] = _integers(words, -rules.WIND_RANGE, rules.WIND_RANGE)
    listener[BODY], listener[FALLEN], listener[TOUCHING], listener[TO_SKIP] = lander, 0, 0, 0
    for k in range(2):
        body = engine.create_body(world, parts[LEG_BODIES + k])
        engine.create_fixture(body, parts[LEG])
        joint = parts[JOINTS + k]
        engine.store_word(joint + engine.BODY_A, lander)
        engine.store_word(joint + engine.BODY_B, body)
        made = engine.create_joint(world, joint)
        engine.store_word(made, parts[JOINT_TABLE])
        engine.store_word(made + USER_DATA, listener.ctypes.data)
        listener[JOINTS_OF + k] = made
        listener[BODY + 1 + k], listener[LEFT + k] = body, 0
    memo[SHAPING] = np.nan
    advance(batch, i, batch.idle)


@_compiled
def _build_ridge(words: Any, rough: Any, moon: int, ridge: int, edge: int) -> None:
    for k in range(rules.CHUNKS + 1):
        rough[k] = _uniform(words, 0.0, rules.WORLD_HEIGHT / 2)
    for k in range(_MIDDLE - 2, _MIDDLE + 3):
        rough[k] = rules.PAD_HEIGHT
    before = 0.0
    for k in range(rules.CHUNKS):
        # Before the first comes the last.
        height = _smooth(rough[k - 1 if k else rules.CHUNKS], rough[k], rough[k + 1])
        if k > 0:
            engine.place_edge(edge, _PIECE * (k - 1), before, _PIECE * k, height)
            engine.create_fixture(moon, ridge)
        before = height


@_compiled
def advance(batch: Batch, i: int, action: Any) -> Any:
    """Step an environment; return whether its episode has ended by itself."""
    world, listener, memo, options = (
        batch.worlds[i].ctypes.data,
        batch.listeners[i],
        batch.memo[i],
        batch.options,
    )
    lander = listener[BODY]
    if options[WIND] != 0.0 and listener[LEFT] == 0 and listener[RIGHT] == 0:
        engine.push_center(lander, _gust(memo[WIND_INDEX]) * options[WIND_POWER], 0.0)
        engine.twist(lander, _gust(memo[TORQUE_INDEX]) * options[TURBULENCE_POWER])
        memo[WIND_INDEX] += 1
        memo[TORQUE_INDEX] += 1
    main, side, direction = _throttles(options[CONTINUOUS] != 0.0, action[0], action[1])
    first = _uniform(batch.words[i], -1.0, 1.0) / rules.SCALE
    second = _uniform(batch.words[i], -1.0, 1.0) / rules.SCALE
    if main != 0.0 or side != 0.0:
        _fire(lander, main, side, direction, first, second)
    engine.step_world(world, np.float32(1.0 / rules.FPS), np.int32(180), np.int32(60))
    return _judge(batch, i, lander, main * 0.30, side * 0.03)


@_compiled
def _fire(
    lander: int, main: float, side: float, direction: float, first: float, second: float
) -> None:
    angle = np.float64(engine.load_float(lander + engine.ANGLE))
    x = np.float64(engine.load_float(lander + engine.POSITION))
    y = np.float64(engine.load_float(lander + engine.POSITION + 4))
    sine, cosine = math.sin(angle), math.cos(angle)
    if main != 0.0:
        dx, dy = _main_flame(sine, cosine, first, second)
        fx, fy = dx * rules.MAIN_POWER * main, dy * rules.MAIN_POWER * main
        engine.push_at(lander, -fx, -fy, x + dx, y + dy)
    if side != 0.0:
        dx, dy = _side_flame(sine, cosine, first, second, direction)
        px = x + dx - sine * rules.SIDE_LYING / rules.SCALE
        py = y + dy + cosine * rules.SIDE_UPRIGHT / rules.SCALE
        fx, fy = dx * rules.SIDE_POWER * side, dy * rules.SIDE_POWER * side
        engine.push_at(lander, -fx, -fy, px, py)


@_compiled
def _judge(batch: Batch, i: int, lander: int, main_cost: float, side_cost: float) -> Any:
    listener, seen, memo = batch.listeners[i], batch.observations[i], batch.memo[i]
    x, y, vx, vy = _sense(
        np.float64(engine.load_float(lander + engine.POSITION)),
        np.float64(engine.load_float(lander + engine.POSITION + 4)),
        np.float64(engine.load_float(lander + engine.VELOCITY)),
        np.float64(engine.load_float(lander + engine.VELOCITY + 4)),
    )
    angle = np.float64(engine.load_float(lander + engine.ANGLE))
    turn = 20.0 * np.float64(engine.load_float(lander + engine.ANGULAR_VELOCITY)) / rules.FPS
    left, right = np.float64(listener[LEFT]), np.float64(listener[RIGHT])
    seen[0], seen[1], seen[2], seen[3] = x, y, vx, vy
    seen[4], seen[5], seen[6], seen[7] = angle, turn, left, right
    shaping = _shaping(x, y, vx, vy, angle, left, right)
    before, memo[SHAPING] = memo[SHAPING], shaping
    gain = 0.0 if math.isnan(before) else shaping - before
    reward, ended = gain - main_cost - side_cost, False
    if listener[FALLEN] != 0 or abs(x) >= 1.0:
        reward, ended = -100.0, True
    if not engine.load_short(lander + engine.FLAGS) & engine.AWAKE:
        reward, ended = 100.0, True
    batch.rewards[i] = reward
    return ended
