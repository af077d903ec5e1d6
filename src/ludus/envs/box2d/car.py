"""A car with rear-wheel drive, seen from above: each wheel grips the ground until it slips."""

from __future__ import annotations

import math
from typing import Any

from ludus.envs.box2d.engine import import_box2d

__all__ = ["SIZE", "WHEEL_RADIUS", "WHEEL_WIDTH", "Car", "Wheel"]

SIZE = 0.02
ENGINE_POWER = 100000000 * SIZE * SIZE
INERTIA = 4000 * SIZE * SIZE
GRIP = 1000000 * SIZE * SIZE
GRASS_GRIP = GRIP * 0.6
STIFFNESS = 205000 * SIZE * SIZE
BRAKE_FORCE, BLOCKING_BRAKE = 15, 0.9
STEER_TORQUE = 180 * 900 * SIZE * SIZE
WHEEL_RADIUS, WHEEL_WIDTH = 27, 14
ROLLING_RADIUS = 1.0 * WHEEL_RADIUS * SIZE
GROUND_BIT, WHEEL_BIT = 0x0001, 0x0020
WHEEL_PLACES = [(-55, 80), (55, 80), (-55, -82), (55, -82)]
WHEEL_SHAPE = [(-14, 27), (14, 27), (14, -27), (-14, -27)]
HULL_SHAPES = [
    [(-60, 130), (60, 130), (60, 110), (-60, 110)],
    [(-15, 120), (15, 120), (20, 20), (-20, 20)],
    [(25, 20), (50, -10), (50, -40), (20, -90), (-20, -90), (-50, -40), (-50, -10), (-25, 20)],
    [(-50, -120), (50, -120), (50, -90), (-50, -90)],
]


class Wheel:
    """One wheel: its body and joint, how it is driven, and the road tiles it is on."""

    __slots__ = ("body", "brake", "gas", "joint", "omega", "phase", "slipping", "steer", "tiles")

    def __init__(self, body: Any, joint: Any) -> None:
        self.body = body
        self.joint = joint
        self.gas = self.brake = self.steer = 0.0
        self.phase = self.omega = 0.0
        self.slipping = False
        self.tiles: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        # Where Gymnasium's wheel is the body itself, position and speed are read from the wheel.
        if name in self.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.body, name)

    def step(self, dt: float) -> None:
        """Turn the wheel and push its body with the friction that results."""
        body = self.body
        error = self.steer - self.joint.angle
        self.joint.motorSpeed = math.copysign(min(50.0 * abs(error), 3.0), error)
        turned, speed = body.transform.q, body.linearVelocity
        side_x, side_y = turned.c, turned.s
        # A plain minus would turn 0 into -0.
        forward_x, forward_y = 0.0 - side_y, side_x
        vx, vy = speed.x, speed.y
        self._drive(dt)
        ahead = -(forward_x * vx + forward_y * vy) + self.omega * ROLLING_RADIUS
        ahead *= STIFFNESS
        across = -(side_x * vx + side_y * vy) * STIFFNESS
        force = math.sqrt(ahead * ahead + across * across)
        grip = GRIP if self.tiles else GRASS_GRIP
        self.slipping = force > 2.0 * grip
        if force > grip:
            ahead = ahead / force * grip
            across = across / force * grip
        self.omega -= dt * ahead * ROLLING_RADIUS / INERTIA
        push = across * side_x + ahead * forward_x, across * side_y + ahead * forward_y
        body.ApplyForceToCenter(push, True)

    def _drive(self, dt: float) -> None:
        """Let engine and brake change how fast the wheel turns."""
        omega = self.omega
        omega += dt * ENGINE_POWER * self.gas / INERTIA / (abs(omega) + 5.0)
        if self.brake >= BLOCKING_BRAKE:
            omega = 0.0
        elif self.brake > 0:
            slower = min(BRAKE_FORCE * self.brake, abs(omega))
            omega -= math.copysign(slower, omega)
        self.omega = omega
        self.phase += omega * dt


class Car:
    """A hull on four wheels, of which the front two steer and the rear two drive.

    Args:
        world: The Box2D world.
        init_angle: The direction it faces, in radians.
        init_x: Where its centre is.
        init_y: Where its centre is.
    """

    def __init__(self, world: Any, init_angle: float, init_x: float, init_y: float) -> None:
        box2d = import_box2d()
        angle, x, y = init_angle, init_x, init_y
        self.world = world
        self.fuel_spent = 0.0
        shapes = [
            box2d.b2PolygonShape(vertices=[(a * SIZE, b * SIZE) for a, b in corners])
            for corners in (*HULL_SHAPES, WHEEL_SHAPE)
        ]
        parts = [box2d.b2FixtureDef(shape=shape, density=1.0) for shape in shapes[:-1]]
        self.hull = world.CreateDynamicBody(position=(x, y), angle=angle, fixtures=parts)
        self.wheels: list[Wheel] = []
        for wx, wy in WHEEL_PLACES:
            body = world.CreateDynamicBody(
                position=(x + wx * SIZE, y + wy * SIZE),
                angle=angle,
                fixtures=box2d.b2FixtureDef(
                    shape=shapes[-1],
                    density=0.1,
                    restitution=0.0,
                    categoryBits=WHEEL_BIT,
                    maskBits=GROUND_BIT,
                ),
            )
            joint = world.CreateRevoluteJoint(
                bodyA=self.hull,
                bodyB=body,
                localAnchorA=(wx * SIZE, wy * SIZE),
                localAnchorB=(0, 0),
                enableMotor=True,
                enableLimit=True,
                maxMotorTorque=STEER_TORQUE,
                motorSpeed=0,
                lowerAngle=-0.4,
                upperAngle=0.4,
            )
            self.wheels.append(Wheel(body, joint))

    def control(self, steer: float, gas: float, brake: float) -> None:
        """Set the pedals and the steering wheel."""
        self.gas(gas)
        self.brake(brake)
        self.steer(steer)

    def gas(self, gas: float) -> None:
        """Press the accelerator, from 0 to 1; the engine follows gradually and stops at once."""
        gas = min(max(gas, 0.0), 1.0)
        for wheel in self.wheels[2:]:
            wheel.gas += min(gas - wheel.gas, 0.1)

    def brake(self, b: float) -> None:
        """Press the brake, from 0 to 1; from 0.9 on it blocks the wheels."""
        for wheel in self.wheels:
            wheel.brake = b

    def steer(self, s: float) -> None:
        """Turn the steering wheel, from -1 to 1; the front wheels follow gradually."""
        for wheel in self.wheels[:2]:
            wheel.steer = s

    def step(self, dt: float) -> None:
        """Apply the forces of all wheels; the world moves afterwards."""
        for wheel in self.wheels:
            wheel.step(dt)
            self.fuel_spent += dt * ENGINE_POWER * wheel.gas

    def draw(
        self,
        surface: Any,
        zoom: float,
        translation: tuple[float, float],
        angle: float,
        draw_particles: bool = True,
    ) -> None:
        """Draw the car on a surface of pygame: turned by ``angle``, enlarged, then shifted.

        ``draw_particles`` has no effect: skid marks belong to the picture of the race.
        """
        from ludus.envs.box2d.car_racing_drawing import draw_car

        draw_car(surface, self, zoom, translation, angle)

    def destroy(self) -> None:
        """Remove the car from its world."""
        for body in (self.hull, *(wheel.body for wheel in self.wheels)):
            self.world.DestroyBody(body)
        self.wheels = []
