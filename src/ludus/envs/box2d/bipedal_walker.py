"""BipedalWalker: teach two legs with four motors to walk (Klimov, 2016)."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import numpy as np

from ludus.core.vector_env import VectorEnv
from ludus.envs.box2d.bipedal_terrain import LENGTH, SCALE, STEP, Terrain
from ludus.envs.box2d.bipedal_walker_drawing import CLOUD_DRAWS, draw
from ludus.envs.box2d.engine import Touches, import_box2d, listen
from ludus.envs.box2d.heuristics import BipedalWalkerHeuristics
from ludus.envs.box2d.lidar import Lidar
from ludus.envs.box2d.native.batch import WALKER, checked_shape
from ludus.envs.box2d.replayed_env import ReplayedEnv, StepResult
from ludus.envs.box2d.walker_parts import TORQUE, WalkerParts
from ludus.envs.box2d.walker_rules import (
    EFFORT,
    FINISH,
    FIRST_PUSH,
    FPS,
    HIP,
    KNEE,
    SPEEDS,
    VIEW_HEIGHT,
    VIEW_WIDTH,
    shaping,
)
from ludus.envs.screen import Screen
from ludus.errors import Error, InvalidAction
from ludus.spaces import Box

__all__ = ["BipedalWalker", "BipedalWalkerHardcore", "BipedalWalkerHeuristics"]

WORLD_WIDTH, WORLD_HEIGHT = VIEW_WIDTH / SCALE, VIEW_HEIGHT / SCALE

_ANGLE, _SPEED = math.pi, 5.0
_LEG = (_ANGLE, _SPEED, _ANGLE, _SPEED)
_HIGH = (_ANGLE, _SPEED, _SPEED, _SPEED, *_LEG, 5.0, *_LEG, 5.0, *[1.0] * 10)
_FOOT_FLAGS = (8, 13)
BLOCK_COLORS = ((255, 255, 255), (153, 153, 153))
GRASS_COLORS = ((76, 255, 76), (76, 204, 76))
HULL_COLORS = ((127, 51, 229), (76, 76, 127))
LIMB_COLORS = (((178, 101, 152), (127, 76, 101)), ((128, 51, 102), (77, 26, 51)))
"""Fill and outline, as the attributes ``color1`` and ``color2`` of bodies."""


def _painted(body: Any, fill: Any, outline: Any) -> Any:
    """Give a body the attributes that Gymnasium's code reads its colours from."""
    body.color1, body.color2 = fill, outline
    return body


class BipedalWalker(ReplayedEnv):
    """Turn hips and knees so that the walker gets far without falling.

    **Observations** are the hull's angle and speeds, angle and speed of hip and knee and whether
    the foot touches the ground, for each leg, and ten lidar readings of the ground ahead.
    **Actions** are four numbers from -1 to 1: which way each motor turns, and how strong it is.

    **Rewards** are given for the way gained, about 300 in all, less the motors' effort and what
    the hull tilts. The episode **ends** with -100 when the hull touches the ground or the walker
    goes back beyond the start, and at the far end. With ``hardcore`` there are stumps, stairs and
    pits on the way.

    Raises:
        DependencyNotInstalled: Box2D is missing.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_generate_clouds", "_generate_terrain")

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": FPS,
    }
    engine_fields = (
        *("world", "terrain", "hull", "legs", "joints"),
        *("_listener", "_touches", "_lidar", "_ground", "_parts"),
    )
    screen_size = (VIEW_WIDTH, VIEW_HEIGHT)

    def __init__(self, render_mode: str | None = None, hardcore: bool = False) -> None:
        import_box2d()
        self.render_mode = render_mode
        self.hardcore = hardcore
        high = np.array(_HIGH, np.float32)
        low = -high
        low[list(_FOOT_FLAGS)] = -0.0
        self.observation_space = Box(low, high)
        self.action_space = Box(-np.ones(4, np.float32), np.ones(4, np.float32))

    @functools.cached_property
    def _parts(self) -> WalkerParts:
        return WalkerParts()

    @property
    def game_over(self) -> bool:
        """Whether the hull has touched something."""
        return self._touches.fallen

    @game_over.setter
    def game_over(self, value: bool) -> None:
        self._touches.fallen = bool(value)

    def _begin(self, reseeded: bool, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        self.world = import_box2d().b2World()
        self.prev_shaping: float | None = None
        self._build_ground()
        # Drawn whether or not they are shown, so that a picture changes no episode.
        self.clouds = self.np_random.random(CLOUD_DRAWS)
        self._build_walker()
        self._touches = Touches(self.hull, *self.legs[1::2])
        self._listener = listen(self.world, self._touches)
        return self._advance((0.0, 0.0, 0.0, 0.0, 0.0))[0], {}

    def _build_ground(self) -> None:
        self._ground = Terrain.draw(self.np_random, self.hardcore)
        self.terrain_x = [i * STEP for i in range(LENGTH)]
        self.terrain_y = self._ground.heights.copy()
        parts, create = self._parts, self.world.CreateBody
        self.terrain: list[Any] = []
        blocks, edges = [], []
        for corners in self._ground.blocks:
            parts.block.shape.vertices = corners
            self.terrain.append(_painted(create(parts.ground), *BLOCK_COLORS))
            blocks.append(self.terrain[-1].CreateFixture(parts.block))
        for i, ends in enumerate(self._ground.edges()):
            parts.edge.shape.vertices = ends
            color = GRASS_COLORS[i % 2]
            self.terrain.append(_painted(create(parts.ground), color, color))
            edges.append(self.terrain[-1].CreateFixture(parts.edge))
        self._lidar = Lidar(self._ground, edges, blocks)

    def _build_walker(self) -> None:
        """Hang two thighs on the hull, and a shin on each of them."""
        parts, world = self._parts, self.world
        self.hull = _painted(world.CreateBody(parts.hull_body), *HULL_COLORS)
        self.hull.ApplyForceToCenter((self.np_random.uniform(-FIRST_PUSH, FIRST_PUSH), 0), True)
        self.legs: list[Any] = []
        self.joints: list[Any] = []
        for k, (definition, joint) in enumerate(zip(parts.limb_bodies, parts.joints, strict=True)):
            limb = _painted(world.CreateBody(definition), *LIMB_COLORS[k // 2])
            joint.bodyA, joint.bodyB = self.legs[-1] if k % 2 else self.hull, limb
            self.legs.append(limb)
            self.joints.append(world.CreateJoint(joint))

    def _plain_action(self, action: Any) -> Any:
        try:
            hip, knee, other_hip, other_knee = map(float, action)
        except (TypeError, ValueError) as problem:
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid; expected four numbers from -1 to 1."
            ) from problem
        # Rewards are in single precision for actions in single precision.
        single = getattr(action, "dtype", None) == np.float32
        return hip, knee, other_hip, other_knee, float(single)

    def _advance(self, action: Any) -> StepResult:
        efforts = [min(abs(number), 1.0) for number in action[:4]]
        for joint, speed, number, effort in zip(self.joints, SPEEDS, action, efforts, strict=False):
            joint.motorSpeed = float(speed * ((number > 0) - (number < 0)))
            joint.maxMotorTorque = TORQUE * effort
        self.world.Step(1.0 / FPS, 180, 60)
        hull, touches = self.hull, self._touches
        place, speed, angle = hull.position, hull.linearVelocity, hull.angle
        vx, vy = speed.x, speed.y
        turns = [joint.angle for joint in self.joints]
        speeds = [joint.speed for joint in self.joints]
        left, right = touches.first.ground_contact, touches.second.ground_contact
        self.lidar = self._lidar.cast(place)
        x = place.x
        self.scroll = x - WORLD_WIDTH / 5
        seen = (
            *(angle, 2.0 * hull.angularVelocity / FPS),
            *(0.3 * vx * WORLD_WIDTH / FPS, 0.3 * vy * WORLD_HEIGHT / FPS),
            *(turns[0], speeds[0] / HIP, turns[1] + 1.0, speeds[1] / KNEE, left),
            *(turns[2], speeds[2] / HIP, turns[3] + 1.0, speeds[3] / KNEE, right),
            *self.lidar,
        )
        good = shaping(x, angle)
        gain = 0.0 if self.prev_shaping is None else good - self.prev_shaping
        self.prev_shaping = good
        fallen = touches.fallen or x < 0
        reward = -100 if fallen else _less_effort(gain, efforts, bool(action[4]))
        return np.array(seen, np.float32), reward, fallen or x > FINISH, False, {}

    # --- many at once ---------------------------------------------------------------------------

    @classmethod
    def vector(
        cls, num_envs: int = 1, *, compile: str | None = None, **kwargs: Any
    ) -> VectorEnv[Any, Any, Any]:
        """Build many walkers that are stepped together, in compiled code where that is possible.

        Args:
            num_envs: How many.
            compile: ``"never"`` builds single environments instead; otherwise code that is missing
                is compiled first.
            **kwargs: The constructor's arguments, ``max_episode_steps``, and those of
                :class:`~ludus.envs.box2d.vector_env.Box2DVectorEnv`.
        """
        from ludus.envs.box2d.vector_env import make_vector

        return make_vector(cls, num_envs, kwargs, compile=compile)

    action_size: ClassVar[int] = 5

    def batch_options(self) -> list[float] | None:
        """Return what compiled code has to know."""
        return [WALKER, self.hardcore]

    def batch_parts(self) -> WalkerParts:
        """Return new definitions of everything in a world."""
        return WalkerParts()

    def batch_actions(self, actions: Any, rows: Any) -> None:
        """Write a batch of actions into rows of numbers, and last whether in single precision.

        Raises:
            ValueError: Not one action per environment.
        """
        given = np.asarray(actions)
        rows[:, :4] = checked_shape(given, (len(rows), 4))
        rows[:, 4] = given.dtype == np.float32

    def _show_on(self, screen: Screen) -> np.ndarray[Any, Any] | None:
        canvas = screen.canvas()
        bodies = [*self.legs, self.hull]
        draw(canvas, SCALE, self._ground, bodies, self.lidar, self.clouds)
        return screen.show(canvas)


class BipedalWalkerHardcore:
    """A name that older programs import; it cannot be called.

    Raises:
        Error: Always.
    """

    def __init__(self) -> None:
        raise Error(
            "BipedalWalkerHardcore is no class of its own. Use make('BipedalWalker-v3', "
            "hardcore=True) or make('BipedalWalkerHardcore-v3')."
        )


def _less_effort(gain: float, efforts: list[float], single: bool) -> np.floating[Any]:
    """Return the gain less what each motor costs, rounded after every step if ``single``."""
    if single:
        rest, cost = np.float32(gain), np.float32(EFFORT)
        for effort in efforts:
            rest = rest - cost * np.float32(effort)
        return rest
    for effort in efforts:
        gain -= EFFORT * effort
    return np.float64(gain)
