# mypy: disable-error-code="untyped-decorator"
"""The lander's two joints, solved together while nothing touches the ground.

In every step the engine's solver sweeps 180 times over joints and contacts, and calls each joint
anew, which reads and writes velocities that the next one needs. Without contacts there is nothing
between these calls. So the first call makes all sweeps over both joints at once, with velocities
and impulses in registers, and the other 359 return. What is computed is what the engine computes,
operation by operation in single precision. Imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ludus.envs.box2d.native import engine

__all__ = ["sweep_joints"]

# Words of a listener, which joints find in place of the user's data.
TOUCHING, TO_SKIP, JOINTS = 7, 8, 9
USER_DATA, IMPULSE, MOTOR_IMPULSE, MAX_TORQUE, MOTOR_SPEED = 120, 144, 156, 164, 168
INDEX_A, INDEX_B, ARM_A, ARM_B, INVERSE_MASS, MASS, MOTOR_MASS, LIMIT = (
    *(188, 192, 196, 204, 228, 244, 280, 284),
)
NO_LIMIT, LOWER = 0, 1
# Of the solver's data, and of a velocity in it.
SECONDS, SWEEPS, VELOCITIES, VELOCITY_BYTES = 0, 12, 32, 12

_sweep = engine.imported(
    "_ZN15b2RevoluteJoint24SolveVelocityConstraintsERK12b2SolverData",
    types.void,
    types.int64,
    types.int64,
)
_load = engine.load_float
_0, _1 = np.float32(0.0), np.float32(1.0)


@engine.inlined
def _cross(a: Any, b: Any) -> Any:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@engine.inlined
def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@engine.inlined
def _three(place: int) -> Any:
    return _load(place), _load(place + 4), _load(place + 8)


@engine.inlined
def _prepared(joint: int, seconds: Any) -> Any:
    """Return what does not change from sweep to sweep."""
    x, y, z = _three(joint + MASS), _three(joint + MASS + 12), _three(joint + MASS + 24)
    whole = _dot(x, _cross(y, z))
    if whole != _0:
        whole = _1 / whole
    part = x[0] * y[1] - y[0] * x[1]
    if part != _0:
        part = _1 / part
    most = seconds * _load(joint + MAX_TORQUE)
    return (
        x,
        y,
        z,
        (whole, part),
        (_load(joint + MOTOR_MASS), _load(joint + MOTOR_SPEED), most),
        (_load(joint + INVERSE_MASS), _load(joint + INVERSE_MASS + 4)),
        (_load(joint + INVERSE_MASS + 8), _load(joint + INVERSE_MASS + 12)),
        (_load(joint + ARM_A), _load(joint + ARM_A + 4)),
        (_load(joint + ARM_B), _load(joint + ARM_B + 4)),
        engine.load_int(joint + LIMIT),
    )


@engine.inlined
def _solved_part(fixed: Any, bx: Any, by: Any) -> Any:
    """Solve for an impulse without torque."""
    x, y, part = fixed[0], fixed[1], fixed[3][1]
    return part * (y[1] * bx - y[0] * by), part * (x[0] * by - x[1] * bx)


@engine.inlined
def _swept(fixed: Any, impulses: Any, a: Any, b: Any) -> Any:
    """Return impulses and velocities after one sweep."""
    ix, iy, iz, motor = impulses
    (ax, ay, aw), (bx, by, bw) = a, b
    motor_mass, motor_speed, most = fixed[4]
    (light_a, light_b), (turns_a, turns_b) = fixed[5], fixed[6]
    (arm_ax, arm_ay), (arm_bx, arm_by), limit = fixed[7], fixed[8], fixed[9]

    wanted = motor + -motor_mass * (bw - aw - motor_speed)
    wanted = wanted if wanted < most else most
    wanted = -most if -most > wanted else wanted
    change, motor = wanted - motor, wanted
    aw = aw - turns_a * change
    bw = bw + turns_b * change

    off_x = bx + -bw * arm_by - ax - -aw * arm_ay
    off_y = by + bw * arm_bx - ay - aw * arm_ax
    if limit == NO_LIMIT:
        px, py = _solved_part(fixed, -off_x, -off_y)
        pz = _0
        ix, iy = ix + px, iy + py
        aw = aw - turns_a * (arm_ax * py - arm_ay * px)
        bw = bw + turns_b * (arm_bx * py - arm_by * px)
    else:
        x, y, z, whole = fixed[0], fixed[1], fixed[2], fixed[3][0]
        off = (off_x, off_y, bw - aw)
        px = -(whole * _dot(off, _cross(y, z)))
        py = -(whole * _dot(x, _cross(off, z)))
        pz = -(whole * _dot(x, _cross(y, off)))
        total = iz + pz
        if (limit == LOWER and total < _0) or (limit != LOWER and total > _0):
            px, py = _solved_part(fixed, -off_x + iz * z[0], -off_y + iz * z[1])
            pz = -iz
            ix, iy, iz = ix + px, iy + py, _0
        else:
            ix, iy, iz = ix + px, iy + py, total
        aw = aw - turns_a * (arm_ax * py - arm_ay * px + pz)
        bw = bw + turns_b * (arm_bx * py - arm_by * px + pz)
    a = ax - light_a * px, ay - light_a * py, aw
    b = bx + light_b * px, by + light_b * py, bw
    return (ix, iy, iz, motor), a, b


@engine.inlined
def _four(place: int) -> Any:
    return _load(place), _load(place + 4), _load(place + 8), _load(place + 12)


@engine.inlined
def _put(place: int, numbers: Any) -> None:
    engine.store_float(place, numbers[0])
    engine.store_float(place + 4, numbers[1])
    engine.store_float(place + 8, numbers[2])


@engine.inlined
def _all_sweeps(one: int, other: int, data: int) -> None:
    seconds, velocities = _load(data + SECONDS), engine.load_word(data + VELOCITIES)
    hull = velocities + VELOCITY_BYTES * np.int64(engine.load_int(one + INDEX_A))
    first = velocities + VELOCITY_BYTES * np.int64(engine.load_int(one + INDEX_B))
    second = velocities + VELOCITY_BYTES * np.int64(engine.load_int(other + INDEX_B))
    fixed, fixed_too = _prepared(one, seconds), _prepared(other, seconds)
    pushes, pushes_too = _four(one + IMPULSE), _four(other + IMPULSE)
    a, b, c = _three(hull), _three(first), _three(second)
    for _ in range(engine.load_int(data + SWEEPS)):
        pushes, a, b = _swept(fixed, pushes, a, b)
        pushes_too, a, c = _swept(fixed_too, pushes_too, a, c)
    _put(hull, a)
    _put(first, b)
    _put(second, c)
    _put(one + IMPULSE, pushes)
    _put(other + IMPULSE, pushes_too)
    engine.store_float(one + MOTOR_IMPULSE, pushes[3])
    engine.store_float(other + MOTOR_IMPULSE, pushes_too[3])


def sweep_joints(joint: int, data: int) -> None:
    """Do what the engine wants of a joint in a sweep, or have done it already."""
    listener = engine.load_word(joint + USER_DATA)
    to_skip = engine.load_word(listener + 8 * TO_SKIP)
    if to_skip > 0:
        engine.store_word(listener + 8 * TO_SKIP, to_skip - 1)
    elif engine.load_word(listener + 8 * TOUCHING) != 0:
        _sweep(joint, data)
    else:
        first = engine.load_word(listener + 8 * JOINTS)
        other = engine.load_word(listener + 8 * (JOINTS + 1)) if joint == first else first
        _all_sweeps(joint, other, data)
        calls = 2 * np.int64(engine.load_int(data + SWEEPS))
        engine.store_word(listener + 8 * TO_SKIP, calls - 1)
