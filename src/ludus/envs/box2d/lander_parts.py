"""The bodies that LunarLander's world is made of, as the engine's definitions."""

from __future__ import annotations

from typing import Any

from ludus.envs.box2d.engine import import_box2d
from ludus.envs.box2d.lander_rules import HALF_WIDTH, LEG_DOWN, SCALE, WORLD_HEIGHT, WORLD_WIDTH

__all__ = ["LanderParts"]

GROUND_BIT, LANDER_BIT, LEG_BIT = 0x0001, 0x0010, 0x0020
HULL = [(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)]
LEG_AWAY, LEG_ANGLE, LEG_SIZE, LEG_TORQUE = 20, 0.05, (2 / SCALE, 8 / SCALE), 40
# Side, and the angles between which the leg turns.
LEGS = ((-1, 0.9 - 0.5, 0.9), (1, -0.9, -0.9 + 0.5))


class LanderParts:
    """Definitions from which worlds are built again and again.

    They do not change, but for the vertices of ``ridge``, and the bodies of ``joints``.
    """

    def __init__(self) -> None:
        box2d = import_box2d()
        edge, polygon, fixture = box2d.b2EdgeShape, box2d.b2PolygonShape, box2d.b2FixtureDef
        self.ground = box2d.b2BodyDef()
        self.floor = fixture(shape=edge(vertices=[(0, 0), (WORLD_WIDTH, 0)]))
        self.ridge = fixture(shape=edge(vertices=[(0, 0), (1, 0)]), density=0, friction=0.1)
        self.hull = fixture(
            shape=polygon(vertices=[(x / SCALE, y / SCALE) for x, y in HULL]),
            density=5.0,
            friction=0.1,
            categoryBits=LANDER_BIT,
            maskBits=GROUND_BIT,
        )
        self.leg = fixture(
            shape=polygon(box=LEG_SIZE),
            density=1.0,
            categoryBits=LEG_BIT,
            maskBits=GROUND_BIT,
        )
        self.hull_body = self._body(0, self.hull)
        self.leg_bodies = [self._body(side, self.leg) for side, _, _ in LEGS]
        self.joints = [_joint(*leg) for leg in LEGS]

    def _body(self, side: int, fixture: Any) -> Any:
        box2d = import_box2d()
        return box2d.b2BodyDef(
            type=box2d.b2_dynamicBody,
            position=(HALF_WIDTH - side * LEG_AWAY / SCALE, WORLD_HEIGHT),
            angle=side * LEG_ANGLE,
            fixtures=fixture,
        )

    def for_compiled_code(self) -> list[Any]:
        """Return the definitions in the order in which compiled code counts them."""
        first = [self.ground, self.floor, self.ridge, self.ridge.shape, self.hull_body, self.hull]
        return [*first, self.leg, *self.leg_bodies, *self.joints]


def _joint(side: int, lower: float, upper: float) -> Any:
    return import_box2d().b2RevoluteJointDef(
        localAnchorA=(0, 0),
        localAnchorB=(side * LEG_AWAY / SCALE, LEG_DOWN / SCALE),
        referenceAngle=side * LEG_ANGLE,
        enableMotor=True,
        enableLimit=True,
        maxMotorTorque=LEG_TORQUE,
        motorSpeed=0.3 * side,
        lowerAngle=lower,
        upperAngle=upper,
    )
