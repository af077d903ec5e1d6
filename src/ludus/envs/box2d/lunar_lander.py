"""LunarLander: bring a lander down softly between two flags (Klimov, 2016)."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, ClassVar

import numpy as np

from ludus import logger
from ludus.core.vector_env import VectorEnv
from ludus.envs.arguments import number
from ludus.envs.box2d.engine import Touches, import_box2d, listen
from ludus.envs.box2d.heuristics import demo_heuristic_lander, heuristic
from ludus.envs.box2d.lander_parts import LanderParts
from ludus.envs.box2d.lander_rules import (
    CHUNKS,
    FIRST_PUSH,
    FPS,
    HALF_HEIGHT,
    HEIGHT,
    MAIN_POWER,
    PAD_HEIGHT,
    SCALE,
    SIDE_LYING,
    SIDE_POWER,
    SIDE_UPRIGHT,
    WIDTH,
    WIND_RANGE,
    WORLD_HEIGHT,
    WORLD_WIDTH,
    gust,
    main_flame,
    sense,
    shaping,
    side_flame,
    smooth,
    throttles,
)
from ludus.envs.box2d.lunar_lander_drawing import MAIN_SPARK, SIDE_SPARK, Exhaust, draw
from ludus.envs.box2d.native.batch import LANDER, checked_shape
from ludus.envs.box2d.replayed_env import ReplayedEnv, StepResult
from ludus.envs.screen import Screen
from ludus.errors import Error, InvalidAction
from ludus.seeding import derive_seed
from ludus.spaces import Box, Discrete

__all__ = [
    "LunarLander",
    "LunarLanderContinuous",
    "LunarLanderV2",
    "demo_heuristic_lander",
    "heuristic",
]


class LunarLander(ReplayedEnv):
    """Fire one of three engines, or none, until the lander rests.

    **Observations** are position, velocity, angle, angular velocity, and for each leg whether it
    touches the ground; the landing pad is at (0, 0). **Actions** are 0 (none), 1 (left engine),
    2 (main engine) and 3 (right engine), or with ``continuous`` the throttles of the main engine,
    which is off below 0, and of the side engines, which are off between -0.5 and 0.5.

    **Rewards** are what the step gained in closeness, slowness, uprightness and legs on the
    ground, less the fuel. The episode **ends** with -100 when the hull touches the ground or the
    lander leaves the picture, and with +100 when it has come to rest.

    With ``enable_wind`` a force up to ``wind_power`` and a torque up to ``turbulence_power`` act
    on the lander while it is in the air.

    Raises:
        DependencyNotInstalled: Box2D is missing.
        TypeError: An argument is no number.
        ValueError: ``gravity`` is not between -12 and 0.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_clean_particles", "_create_particle")

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": FPS,
    }
    engine_fields = (
        *("world", "moon", "lander", "legs", "drawlist"),
        *("_listener", "_touches", "_exhaust", "_parts"),
    )
    bounds: ClassVar[tuple[float, ...]] = (2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0)
    screen_size = (WIDTH, HEIGHT)

    def __init__(
        self,
        render_mode: str | None = None,
        continuous: bool = False,
        gravity: float = -10.0,
        enable_wind: bool = False,
        wind_power: float = 15.0,
        turbulence_power: float = 1.5,
    ) -> None:
        import_box2d()
        if not -12.0 < number("gravity", gravity) < 0.0:
            raise ValueError(f"gravity (current value: {gravity}) must be between -12 and 0.")
        _advise("wind_power", wind_power, 20.0)
        _advise("turbulence_power", turbulence_power, 2.0)
        self.render_mode = render_mode
        self.continuous = continuous
        self.gravity = gravity
        self.enable_wind = enable_wind
        self.wind_power = wind_power
        self.turbulence_power = turbulence_power
        high = np.array([*self.bounds, 1.0, 1.0], np.float32)
        low = np.array([*(-bound for bound in self.bounds), -0.0, -0.0], np.float32)
        self.observation_space = Box(low, high)
        self.action_space = Box(-1, 1, (2,), np.float32) if continuous else Discrete(4)
        self.helipad_x1 = WORLD_WIDTH / (CHUNKS - 1) * (CHUNKS // 2 - 1)
        self.helipad_x2 = WORLD_WIDTH / (CHUNKS - 1) * (CHUNKS // 2 + 1)
        self.helipad_y = PAD_HEIGHT

    @functools.cached_property
    def _parts(self) -> LanderParts:
        return LanderParts()

    @property
    def game_over(self) -> bool:
        """Whether the hull has touched something."""
        return self._touches.fallen

    @game_over.setter
    def game_over(self, value: bool) -> None:
        self._touches.fallen = bool(value)

    def _begin(self, reseeded: bool, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        self.world = import_box2d().b2World(gravity=(0, self.gravity))
        self.prev_shaping: float | None = None
        self.helipad_y = PAD_HEIGHT
        self._exhaust = Exhaust() if self.render_mode is not None else None
        self._build_moon()
        self._build_lander()
        if self.enable_wind:
            self._draw_wind(reseeded)
        self.legs = [self._build_leg(number) for number in range(2)]
        self.drawlist = [self.lander, *self.legs]
        self._touches = Touches(self.lander, *self.legs)
        self._listener = listen(self.world, self._touches)
        return self._advance((0.0, 0.0) if self.continuous else 0)[0], {}

    def _build_moon(self) -> None:
        rough = self.np_random.uniform(0, WORLD_HEIGHT / 2, size=CHUNKS + 1)
        middle = CHUNKS // 2
        rough[middle - 2 : middle + 3] = PAD_HEIGHT
        height = rough.tolist()
        piece = WORLD_WIDTH / (CHUNKS - 1)
        self.ridge = [
            (piece * i, smooth(height[i - 1], height[i], height[i + 1])) for i in range(CHUNKS)
        ]
        parts = self._parts
        self.moon = self.world.CreateBody(parts.ground)
        self.moon.CreateFixture(parts.floor)
        for ends in itertools.pairwise(self.ridge):
            parts.ridge.shape.vertices = ends
            self.moon.CreateFixture(parts.ridge)

    def _build_lander(self) -> None:
        self.lander = self.world.CreateBody(self._parts.hull_body)
        push = [self.np_random.uniform(-FIRST_PUSH, FIRST_PUSH) for _ in range(2)]
        self.lander.ApplyForceToCenter(push, True)

    def _build_leg(self, number: int) -> Any:
        leg = self.world.CreateBody(self._parts.leg_bodies[number])
        joint = self._parts.joints[number]
        joint.bodyA, joint.bodyB = self.lander, leg
        leg.joint = self.world.CreateJoint(joint)
        return leg

    def _draw_wind(self, reseeded: bool) -> None:
        """Choose where in the patterns of wind and turbulence the episode starts."""
        self.wind_idx = int(self.np_random.integers(-WIND_RANGE, WIND_RANGE))
        self.torque_idx = int(self.np_random.integers(-WIND_RANGE, WIND_RANGE))

    def _plain_action(self, action: Any) -> Any:
        if self.continuous:
            try:
                return float(action[0]), float(action[1])
            except (TypeError, ValueError, IndexError) as problem:
                raise InvalidAction(
                    f"{action!r} ({type(action)}) invalid; expected two throttles from -1 to 1."
                ) from problem
        # What samples and lists hold needs no closer look.
        common = type(action) in (int, np.int64) and 0 <= action <= 3
        if not common and not self.action_space.contains(action):
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid; expected an integer from 0 to 3."
            )
        return int(action)

    def _advance(self, action: Any) -> StepResult:
        lander, touches = self.lander, self._touches
        if self.enable_wind and not (touches.first.ground_contact or touches.second.ground_contact):
            self._blow()
        given = action if self.continuous else (action, 0.0)
        main, side, direction = throttles(self.continuous, *given)
        draw_number = self.np_random.random
        # What Generator.uniform(-1, 1) computes, without its checks.
        first = (-1.0 + 2.0 * draw_number()) / SCALE
        second = (-1.0 + 2.0 * draw_number()) / SCALE
        if main or side:
            angle, place = lander.angle, lander.position
            # To unpack a vector takes twice as long.
            x, y = place.x, place.y
            sine, cosine = math.sin(angle), math.cos(angle)
            if main:
                dx, dy = main_flame(sine, cosine, first, second)
                push = (dx * MAIN_POWER * main, dy * MAIN_POWER * main)
                self._fire((x + dx, y + dy), push, MAIN_SPARK, main)
            if side:
                dx, dy = side_flame(sine, cosine, first, second, direction)
                px = x + dx - sine * SIDE_LYING / SCALE
                py = y + dy + cosine * SIDE_UPRIGHT / SCALE
                push = (dx * SIDE_POWER * side, dy * SIDE_POWER * side)
                self._fire((px, py), push, SIDE_SPARK, side)
        self.world.Step(1.0 / FPS, 180, 60)
        if self._exhaust is not None:
            self._exhaust.age(self.gravity, 1.0 / FPS)
        return self._judge(main * 0.30, side * 0.03)

    def _fire(
        self, place: tuple[float, float], push: tuple[float, float], spark: float, power: float
    ) -> None:
        """Push the lander at ``place`` against the flame, which gets the impulse ``push``."""
        self.lander.ApplyLinearImpulse((-push[0], -push[1]), place, True)
        if self._exhaust is not None:
            self._exhaust.add(place, push, spark, power)

    def _blow(self) -> None:
        self.lander.ApplyForceToCenter((gust(self.wind_idx) * self.wind_power, 0.0), True)
        self.lander.ApplyTorque(gust(self.torque_idx) * self.turbulence_power, True)
        self.wind_idx += 1
        self.torque_idx += 1

    def _judge(self, main_cost: float, side_cost: float) -> StepResult:
        """Return what the step returns, now that the world has moved."""
        lander, touches = self.lander, self._touches
        angle, place, speed = lander.angle, lander.position, lander.linearVelocity
        x, y, vx, vy = sense(place.x, place.y, speed.x, speed.y)
        if self.helipad_y != PAD_HEIGHT:
            y -= (self.helipad_y - PAD_HEIGHT) / HALF_HEIGHT
        left, right = touches.first.ground_contact, touches.second.ground_contact
        good = shaping(x, y, vx, vy, angle, left, right)
        gain = 0.0 if self.prev_shaping is None else good - self.prev_shaping
        self.prev_shaping = good
        terminated = False
        reward: float = np.float64(gain - main_cost - side_cost)
        if touches.fallen or abs(x) >= 1.0:
            reward, terminated = -100, True
        if not lander.awake:
            reward, terminated = 100, True
        turn = 20.0 * lander.angularVelocity / FPS
        seen = np.array((x, y, vx, vy, angle, turn, left, right), np.float32)
        return seen, reward, terminated, False, {}

    # --- many at once ---------------------------------------------------------------------------

    @classmethod
    def vector(
        cls, num_envs: int = 1, *, compile: str | None = None, **kwargs: Any
    ) -> VectorEnv[Any, Any, Any]:
        """Build many landers that are stepped together, in compiled code where that is possible.

        Args:
            num_envs: How many.
            compile: ``"never"`` builds single environments instead; otherwise code that is missing
                is compiled first.
            **kwargs: The constructor's arguments, ``max_episode_steps``, and those of
                :class:`~ludus.envs.box2d.vector_env.Box2DVectorEnv`.
        """
        from ludus.envs.box2d.vector_env import make_vector

        return make_vector(cls, num_envs, kwargs, compile=compile)

    action_size: ClassVar[int] = 2

    def batch_options(self) -> list[float] | None:
        """Return what compiled code has to know."""
        powers = (self.wind_power, self.turbulence_power)
        return [LANDER, self.gravity, self.continuous, self.enable_wind, *powers]

    def batch_parts(self) -> LanderParts:
        """Return new definitions of everything in a world."""
        return LanderParts()

    def batch_actions(self, actions: Any, rows: Any) -> None:
        """Write a batch of actions into rows of numbers.

        Raises:
            InvalidAction: One is no engine's number.
            ValueError: Not one action per environment.
        """
        given = np.asarray(actions)
        if self.continuous:
            rows[...] = checked_shape(given, rows.shape)
            return
        given = checked_shape(given, rows.shape[:1])
        if given.dtype.kind not in "iu" or np.count_nonzero((given < 0) | (given > 3)):
            raise InvalidAction(
                f"{actions!r} ({type(actions)}) invalid; expected integers from 0 to 3."
            )
        rows[:, 0] = given

    def _show_on(self, screen: Screen) -> np.ndarray[Any, Any] | None:
        canvas = screen.canvas()
        flags = (self.helipad_x1, self.helipad_x2, self.helipad_y)
        draw(canvas, SCALE, self.ridge, self.drawlist, flags, self._exhaust)
        return screen.show(canvas)


class LunarLanderContinuous:
    """A name that older programs import; it cannot be called.

    Raises:
        Error: Always.
    """

    def __init__(self) -> None:
        raise Error(
            "LunarLanderContinuous is no class of its own. Use make('LunarLander-v3', "
            "continuous=True) or make('LunarLanderContinuous-v3')."
        )


class LunarLanderV2(LunarLander):
    """The lander of the second version: narrower bounds, and one wind that blows on and on.

    The patterns of the wind go on from episode to episode; a seed starts them anew. They are drawn
    from a stream of their own, so that wind changes nothing else that is drawn.
    """

    bounds = (1.5, 1.5, 5.0, 5.0, math.pi, 5.0)
    state_fields = ("wind_idx", "torque_idx")

    def batch_options(self) -> list[float] | None:
        """Return what compiled code has to know; it does not know this wind."""
        return None if self.enable_wind else super().batch_options()

    def _draw_wind(self, reseeded: bool) -> None:
        if reseeded or not hasattr(self, "wind_idx"):
            stream = np.random.default_rng(derive_seed(max(self._np_random_seed or 0, 0), "wind"))
            offsets = stream.integers(-WIND_RANGE, WIND_RANGE, 2)
            self.wind_idx, self.torque_idx = map(int, offsets)


def _advise(name: str, value: float, most: float) -> None:
    if not 0.0 <= number(name, value) <= most:
        logger.warn(
            f"{name} value is recommended to be between 0.0 and {most}, (current value: {value}); "
            "a lander in such wind can hardly be steered.",
            stacklevel=3,
        )
