# mypy: disable-error-code="untyped-decorator"
"""The engine without its Python binding, for compiled code that steps many worlds.

The binding's library exports the engine's own functions, and its objects are plain memory, so
compiled code calls the former and reads the latter. Names and offsets are those of Box2D 2.3.10 in
64-bit code by the rules of Unix compilers; :mod:`ludus.envs.box2d.native.program` looks
whether they hold here. Imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = [
    "ANGLE",
    "ANGULAR_VELOCITY",
    "AWAKE",
    "BODY_A",
    "BODY_B",
    "CALLBACKS",
    "FLAGS",
    "POSITION",
    "VELOCITY",
    "cast_ray",
    "compiled",
    "create_body",
    "create_fixture",
    "create_joint",
    "destroy_world",
    "imported",
    "inlined",
    "joint_angle",
    "joint_speed",
    "load_float",
    "load_int",
    "load_short",
    "load_word",
    "make_world",
    "place_edge",
    "push_at",
    "push_center",
    "set_motor_speed",
    "set_motor_torque",
    "set_polygon",
    "step_world",
    "store_float",
    "store_word",
    "twist",
]

# Of a body.
FLAGS, POSITION, CENTER, ANGLE, VELOCITY, ANGULAR_VELOCITY = 4, 12, 44, 56, 64, 72
FORCE, TORQUE, INVERSE_MASS, INVERSE_INERTIA = 76, 84, 148, 156
AWAKE = 2
# Of a contact, a fixture, and the definition of a joint.
FIXTURE_A, FIXTURE_B = 96, 104
OWNER, CATEGORY = 16, 52
BODY_A, BODY_B = 16, 24
VERTICES = 16
# Word of a listener: how many contacts there are.
TOUCHING = 7

_I, _F, _N = types.int64, types.float32, types.int32
_VOID = types.void


def imported(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the engine, found by its name when the code is loaded."""
    return types.ExternalFunction(name, result(*arguments))


_construct = imported("_ZN7b2WorldC1ERK6b2Vec2", _VOID, _I, _I)
destroy_world = imported("_ZN7b2WorldD1Ev", _VOID, _I)
_listen = imported("_ZN7b2World18SetContactListenerEP17b2ContactListener", _VOID, _I, _I)
create_body = imported("_ZN7b2World10CreateBodyEPK9b2BodyDef", _I, _I, _I)
create_fixture = imported("_ZN6b2Body13CreateFixtureEPK12b2FixtureDef", _I, _I, _I)
create_joint = imported("_ZN7b2World11CreateJointEPK10b2JointDef", _I, _I, _I)
set_polygon = imported("_ZN14b2PolygonShape3SetEPK6b2Vec2i", _VOID, _I, _I, _N)
step_world = imported("_ZN7b2World4StepEfii", _VOID, _I, _F, _N, _N)
joint_angle = imported("_ZNK15b2RevoluteJoint13GetJointAngleEv", _F, _I)
joint_speed = imported("_ZNK15b2RevoluteJoint13GetJointSpeedEv", _F, _I)
set_motor_speed = imported("_ZN15b2RevoluteJoint13SetMotorSpeedEf", _VOID, _I, _F)
set_motor_torque = imported("_ZN15b2RevoluteJoint17SetMaxMotorTorqueEf", _VOID, _I, _F)
cast_ray = imported("_ZNK7b2World7RayCastEP17b2RayCastCallbackRK6b2Vec2S4_", _VOID, _I, _I, _I, _I)

# Only compiled code calls them: what Python would need is not made.
_OPTIONS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled = njit(**_OPTIONS)
inlined = njit(**_OPTIONS, forceinline=True)


def _memory(kind: Any, bits: Any) -> tuple[Any, Any]:
    """Return the functions that load and store one kind of number at an address."""

    @intrinsic
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], bits.as_pointer()))

        return kind(_I), generate

    @intrinsic
    def store(typing_context: Any, address: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[1], builder.inttoptr(arguments[0], bits.as_pointer()))
            return context.get_dummy_value()

        return _VOID(_I, kind), generate

    return load, store


load_word, store_word = _memory(_I, ir.IntType(64))
load_float, store_float = _memory(_F, ir.FloatType())
load_int, store_int = _memory(types.int32, ir.IntType(32))
load_short, _ = _memory(types.int16, ir.IntType(16))


@compiled
def make_world(world: int, scratch: int, gravity: float, listener: int) -> None:
    """Build an empty world at an address, where none is, and have it report to a listener."""
    store_float(scratch, np.float32(0.0))
    store_float(scratch + 4, np.float32(gravity))
    _construct(world, scratch)
    _listen(world, listener)


@compiled
def place_edge(shape: int, x1: float, y1: float, x2: float, y2: float) -> None:
    """Set the two ends of an edge."""
    store_float(shape + VERTICES, np.float32(x1))
    store_float(shape + VERTICES + 4, np.float32(y1))
    store_float(shape + VERTICES + 8, np.float32(x2))
    store_float(shape + VERTICES + 12, np.float32(y2))


@compiled
def push_center(body: int, fx: float, fy: float) -> None:
    """Add a force, for the next step, to a body that is awake."""
    store_float(body + FORCE, load_float(body + FORCE) + np.float32(fx))
    store_float(body + FORCE + 4, load_float(body + FORCE + 4) + np.float32(fy))


@compiled
def twist(body: int, torque: float) -> None:
    """Add a torque, for the next step, to a body that is awake."""
    store_float(body + TORQUE, load_float(body + TORQUE) + np.float32(torque))


@compiled
def push_at(body: int, ix: float, iy: float, px: float, py: float) -> None:
    """Change the velocities of a body that is awake by an impulse at a point."""
    x, y = np.float32(ix), np.float32(iy)
    away_x = np.float32(px) - load_float(body + CENTER)
    away_y = np.float32(py) - load_float(body + CENTER + 4)
    light = load_float(body + INVERSE_MASS)
    store_float(body + VELOCITY, load_float(body + VELOCITY) + light * x)
    store_float(body + VELOCITY + 4, load_float(body + VELOCITY + 4) + light * y)
    turn = load_float(body + INVERSE_INERTIA) * (away_x * y - away_y * x)
    store_float(body + ANGULAR_VELOCITY, load_float(body + ANGULAR_VELOCITY) + turn)


@inlined
def _note(listener: int, contact: int, touching: int) -> None:
    one = load_word(load_word(contact + FIXTURE_A) + OWNER)
    other = load_word(load_word(contact + FIXTURE_B) + OWNER)
    count = load_word(listener + 8 * TOUCHING)
    store_word(listener + 8 * TOUCHING, count + 1 if touching else count - 1)
    for k in range(3):
        body = load_word(listener + 8 * (1 + k))
        # What has once touched with the hull has fallen, whatever ends later.
        if (one == body or other == body) and (k > 0 or touching):
            store_word(listener + 8 * (4 + k), np.int64(touching))


def begin_contact(listener: int, contact: int) -> None:
    """Note a contact that began."""
    _note(listener, contact, 1)


def end_contact(listener: int, contact: int) -> None:
    """Note a contact that ended."""
    _note(listener, contact, 0)


def ignore_contact(listener: int, contact: int, more: int) -> None:
    """Do nothing about a contact that is solved."""


def report_fixture(ray: int, fixture: int, point: int, normal: int, fraction: float) -> Any:
    """Note where a ray meets the ground, and have it cut off there; let it pass all else."""
    if not load_short(fixture + CATEGORY) & 1:
        return np.float32(-1.0)
    store_float(ray + 8, fraction)
    return fraction


CALLBACKS = {
    "begin_contact": (begin_contact, _VOID(_I, _I)),
    "end_contact": (end_contact, _VOID(_I, _I)),
    "ignore_contact": (ignore_contact, _VOID(_I, _I, _I)),
    "report_fixture": (report_fixture, _F(_I, _I, _I, _I, _F)),
}
"""What the engine calls, and how."""
