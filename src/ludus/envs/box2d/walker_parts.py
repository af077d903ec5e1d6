"""The bodies that BipedalWalker's world is made of, as the engine's definitions."""

from __future__ import annotations

from typing import Any

from ludus.envs.box2d.bipedal_terrain import HEIGHT, SCALE, START, STEP
from ludus.envs.box2d.engine import import_box2d

__all__ = ["TORQUE", "WalkerParts"]

GROUND_BIT, WALKER_BIT = 0x0001, 0x0020
HULL = [(-30, 9), (6, 9), (34, 1), (34, -8), (-30, -8)]
LEG_DOWN, LEG_WIDTH, LEG_HEIGHT = -8 / SCALE, 8 / SCALE, 34 / SCALE
LEG_ANGLE = 0.05
FRICTION, TORQUE = 2.5, 80
X, Y = STEP * START / 2, HEIGHT + 2 * LEG_HEIGHT
THIGH, SHIN = 0, 1
SIZES = ((LEG_WIDTH / 2, LEG_HEIGHT / 2), (0.8 * LEG_WIDTH / 2, LEG_HEIGHT / 2))
HEIGHTS = (Y - LEG_HEIGHT / 2 - LEG_DOWN, Y - LEG_HEIGHT * 3 / 2 - LEG_DOWN)
ANCHORS = (LEG_DOWN, -LEG_HEIGHT / 2)
LIMITS = ((-0.8, 1.1), (-1.6, -0.1))
# Side and part, from the hull downwards, one leg after the other.
LIMBS = ((-1, THIGH), (-1, SHIN), (1, THIGH), (1, SHIN))


class WalkerParts:
    """Definitions from which worlds are built again and again.

    They do not change, but for the vertices of ``edge`` and ``block``, and the bodies of
    ``joints``.
    """

    def __init__(self) -> None:
        box2d = import_box2d()
        polygon, fixture = box2d.b2PolygonShape, box2d.b2FixtureDef
        self.ground = box2d.b2BodyDef()
        edge = box2d.b2EdgeShape(vertices=[(0, 0), (1, 0)])
        self.edge = fixture(shape=edge, friction=FRICTION, categoryBits=GROUND_BIT)
        square = polygon(vertices=[(0, 0), (1, 0), (1, 1), (0, 1)])
        self.block = fixture(shape=square, friction=FRICTION)
        bits = {"categoryBits": WALKER_BIT, "maskBits": GROUND_BIT}
        shape = polygon(vertices=[(a / SCALE, b / SCALE) for a, b in HULL])
        self.hull = fixture(shape=shape, density=5.0, friction=0.1, **bits)
        self.limbs = [fixture(shape=polygon(box=size), density=1.0, **bits) for size in SIZES]
        self.hull_body = box2d.b2BodyDef(
            type=box2d.b2_dynamicBody, position=(X, Y), fixtures=self.hull
        )
        self.limb_bodies = [
            box2d.b2BodyDef(
                type=box2d.b2_dynamicBody,
                position=(X, HEIGHTS[part]),
                angle=side * LEG_ANGLE,
                fixtures=self.limbs[part],
            )
            for side, part in LIMBS
        ]
        self.joints = [_joint(side, part) for side, part in LIMBS]

    def for_compiled_code(self) -> list[Any]:
        """Return the definitions in the order in which compiled code counts them."""
        ground = [self.ground, self.edge, self.edge.shape, self.block, self.block.shape]
        walker = [self.hull_body, self.hull, *self.limbs, *self.limb_bodies, *self.joints]
        return [*ground, *walker]


def _joint(side: int, part: int) -> Any:
    lower, upper = LIMITS[part]
    return import_box2d().b2RevoluteJointDef(
        localAnchorA=(0, ANCHORS[part]),
        localAnchorB=(0, LEG_HEIGHT / 2),
        # The shin continues the thigh.
        referenceAngle=side * LEG_ANGLE if part == THIGH else 0.0,
        enableMotor=True,
        enableLimit=True,
        maxMotorTorque=TORQUE,
        motorSpeed=side if part == THIGH else 1,
        lowerAngle=lower,
        upperAngle=upper,
    )
